import pytest
import tensorflow as tf

from keras_attn.data.builtin.digit_images import digits
from keras_attn.data.builtin.emoji_names import emoji_phrases
from keras_attn.data.builtin.phrase_pairs import phrases
from keras_attn.data.builtin.scenes import digit_scenes
from keras_attn.data.builtin.splits import SPLITS
from keras_attn.data.builtin.splits import check_split

SOURCES = {
    "emoji_phrases": emoji_phrases,
    "digits": digits,
    "digit_scenes": lambda split: digit_scenes(split, num_scenes=7),
    "large_digit_scenes": lambda split: digit_scenes(
        split, num_scenes=7, scale=2
    ),
    "phrases": lambda split: phrases(split, num_examples=7),
}
every_source = pytest.mark.parametrize("name", SOURCES)


def first(dataset):
    """The first elements, in a form that can be compared."""
    batch = next(dataset.batch(5).as_numpy_iterator())
    return {name: values.tolist() for name, values in batch.items()}


def test_the_splits_pass():
    for split in SPLITS:
        check_split(split)


@every_source
def test_an_unknown_split_is_told_the_splits_there_are(name):
    with pytest.raises(ValueError, match=r"'train', 'validation', 'test'.*dev"):
        SOURCES[name]("dev")


@every_source
def test_a_source_gives_the_same_every_time(name):
    for split in SPLITS:
        assert first(SOURCES[name](split)) == first(SOURCES[name](split))


@every_source
def test_splits_differ(name):
    train, validation, test = (first(SOURCES[name](split)) for split in SPLITS)
    assert train != validation
    assert train != test
    assert validation != test


@every_source
def test_a_source_goes_on_where_it_was_interrupted(name, tmp_path):
    iterator = iter(SOURCES[name]("test"))
    next(iterator)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "at"))
    expected = next(iterator)
    resumed = iter(SOURCES[name]("test"))
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    tf.nest.map_structure(
        lambda one, other: tf.debugging.assert_equal(one, other),
        next(resumed),
        expected,
    )
