import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.resuming.stream import Stream
from keras_attn.training.resuming.stream import discard


def numbers(kind="finite", *, count=14, seed=1):
    """Batches of numbers, in another order in every pass."""
    data = tf.data.Dataset.range(count).shuffle(count, seed=seed)
    data = data.shuffle(3, seed=seed)
    if kind == "unknown":
        return data.filter(lambda x: x >= 0).batch(4)
    data = data.batch(4)
    return data.repeat() if kind == "endless" else data


def listed(dataset, count):
    return [x.tolist() for x in dataset.take(count).as_numpy_iterator()]


@pytest.mark.parametrize("kind", ["finite", "endless"])
@pytest.mark.parametrize("batches", [1, 4, 11])
@pytest.mark.parametrize("is_distributed", [True, False])
def test_a_later_process_comes_to_the_same_place(kind, batches, is_distributed):
    options = {"steps_per_epoch": 5, "is_distributed": is_distributed}
    expected = listed(Stream(numbers(kind), **options).dataset, 16)
    assert expected[:4] != expected[4:8]
    stream = Stream(numbers(kind), **options)
    epochs, step = divmod(batches, 5)
    count = stream.replay(batches=batches, epochs=epochs, step=step)
    if kind == "finite" and not is_distributed:
        assert count == batches % 4, "passes are not read again"
    iterator = iter(stream.dataset)
    discard(iterator, count)
    rest = [next(iterator).numpy().tolist() for _ in range(16 - batches)]
    assert rest == expected[batches:]


def test_data_of_unknown_number_is_found_by_epoch():
    stream = Stream(numbers("unknown"))
    assert stream.steps_per_epoch is None
    passes = [listed(stream.dataset, -1) for _ in range(3)]
    stream = Stream(numbers("unknown"))
    assert stream.replay(batches=10, epochs=2, step=2) == 2
    assert listed(stream.dataset, -1) == passes[2]


def test_steps_are_those_of_a_pass_if_not_given():
    assert Stream(numbers()).steps_per_epoch == 4
    assert Stream(numbers(), steps_per_epoch=7).steps_per_epoch == 7


def test_one_batch_looks_as_all_others():
    stream = Stream(numbers())
    iterator = stream.one_batch(2)
    assert iterator.element_spec == stream.dataset.element_spec
    first = [x.numpy().tolist() for x in iterator]
    assert first == [stream.first_batch.numpy().tolist()] * 2


def test_strings_and_ragged_rows_can_be_told_apart():
    def stream(word):
        rows = tf.ragged.constant([["a"], ["b", word]])
        batch = {"text": rows, "none": None}
        return Stream(tf.data.Dataset.from_tensors(batch))

    stream("c").check(stream("c").describe(), "run")
    with pytest.raises(ValueError, match="first batch"):
        stream("c").check(stream("d").describe(), "run")


def test_a_shuffle_without_a_seed_is_noticed():
    with pytest.raises(ValueError, match=r"`shuffle\(size, seed="):
        Stream(numbers(count=99, seed=None)).check(
            Stream(numbers(count=99, seed=None)).describe(), "run"
        )


def test_data_that_ends_too_early_is_other_data():
    with pytest.raises(ValueError, match=r"after 4 batches.* after 6"):
        discard(iter(numbers()), 6)
    discard(iter(numbers()), 6, tolerance=2)
    with pytest.raises(ValueError, match="other data"):
        discard(iter(numbers()), 6, tolerance=1)


@pytest.mark.parametrize(
    ("data", "options", "complaint"),
    [
        (np.ones(3), {}, "tf.data.Dataset"),
        (numbers("endless"), {}, "steps_per_epoch"),
        (numbers("unknown"), {"is_distributed": True}, "steps_per_epoch"),
        (numbers(), {"steps_per_execution": 3}, "must divide the 4 batches"),
        (numbers().filter(lambda x: x[0] > 99), {}, "empty"),
    ],
)
def test_what_cannot_be_continued_is_refused(data, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        Stream(data, **options)
