import math

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.batching import batches
from keras_attn.data.tasks.masked_language_model import mask_tokens
from keras_attn.data.tasks.masked_language_model import masked_language_model
from keras_attn.text.byte import ByteTokenizer
from keras_attn.text.character import CharacterTokenizer

PAD, UNKNOWN, START, END, MASK = range(5)
SPECIAL = (PAD, UNKNOWN, START, END, MASK)


def texts(**fields):
    return tf.data.Dataset.from_tensor_slices(fields)


def letters(text):
    return ByteTokenizer()(text).numpy().tolist()


def rows(tokens):
    """Batches of one, as `batches` makes them."""
    tokens = np.array(tokens, "int32")
    inputs = {"tokens": tokens, "segments": np.zeros_like(tokens)}
    return tf.data.Dataset.from_tensor_slices((inputs, tokens)).batch(1)


def both(dataset):
    """All tokens and all labels, (rows, length)."""
    out = [(i["tokens"], labels) for i, labels in dataset.as_numpy_iterator()]
    return (np.concatenate(part) for part in zip(*out, strict=True))


def test_a_text_is_its_own_label():
    examples = masked_language_model(texts(text=["ab", "c"]), ByteTokenizer())
    ids = tf.TensorSpec((None,), tf.int32)
    assert examples.element_spec == ({"tokens": ids, "segments": ids}, ids)
    inputs, labels = next(examples.as_numpy_iterator())
    assert inputs["tokens"].tolist() == [START, *letters("ab"), END]
    assert inputs["segments"].tolist() == [0] * 4
    assert labels.tolist() == inputs["tokens"].tolist()


def test_two_texts_are_two_segments():
    examples = masked_language_model(
        texts(text=["a"], text_pair=["bc"]), ByteTokenizer()
    )
    ((inputs, _),) = examples.as_numpy_iterator()
    assert inputs["tokens"].tolist() == [
        START,
        *letters("a"),
        END,
        *letters("bc"),
        END,
    ]
    assert inputs["segments"].tolist() == [0, 0, 0, 1, 1, 1]


@pytest.fixture(scope="module")
def many():
    """500 rows: START, 40 ordinary tokens, unknown, END, 7 times PAD."""
    rng = np.random.default_rng(0)
    ordinary = rng.integers(5, 261, (500, 40))
    column = np.ones((500, 1), int)
    pads = np.zeros((500, 7), int)
    return np.concatenate(
        [START * column, ordinary, UNKNOWN * column, END * column, pads], axis=1
    )


@pytest.mark.parametrize("rate", [0.15, 0.5, 1.0])
def test_each_row_has_its_share_chosen_and_nothing_special(rate, many):
    tokens, labels = both(mask_tokens(rows(many), ByteTokenizer(), rate=rate))
    chosen = labels != PAD
    assert (chosen.sum(axis=1) == round(40 * rate)).all()
    assert not chosen[np.isin(many, SPECIAL)].any()
    np.testing.assert_array_equal(labels[chosen], many[chosen])
    np.testing.assert_array_equal(tokens[~chosen], many[~chosen])


def within(count, total, probability):
    """Whether a count is within 4 standard deviations of the expected."""
    spread = math.sqrt(total * probability * (1 - probability))
    return abs(count - total * probability) < 4 * spread


def test_what_is_chosen_is_hidden_replaced_or_kept_80_10_10(many):
    tokens, labels = both(mask_tokens(rows(many), ByteTokenizer(), rate=0.15))
    chosen = labels != PAD
    total = chosen.sum()
    assert total == 500 * 6
    hidden = tokens[chosen] == MASK
    kept = tokens[chosen] == many[chosen]
    replaced = tokens[chosen][~hidden & ~kept]
    assert within(hidden.sum(), total, 0.8)
    # One random token in 256 is the one that was there.
    assert within(kept.sum(), total, 0.1 + 0.1 / 256)
    assert within(len(replaced), total, 0.1 - 0.1 / 256)
    assert not np.isin(replaced, SPECIAL).any()
    assert replaced.min() < 30 and replaced.max() > 235


def test_every_ordinary_place_is_chosen_equally_often(many):
    _, labels = both(mask_tokens(rows(many), ByteTokenizer(), rate=0.15))
    counts = (labels != PAD).sum(axis=0)[1:41]
    assert all(within(count, 500, 0.15) for count in counts)


@pytest.mark.parametrize(
    ("ordinary", "chosen"), [(0, 0), (1, 1), (3, 1), (10, 2), (17, 3)]
)
def test_at_least_one_is_chosen_where_there_is_any(ordinary, chosen):
    # 1.5 of 10 rounds to the even 2, and 2.55 of 17 to 3.
    row = [START, *[50] * ordinary, END]
    _, labels = both(mask_tokens(rows([row]), ByteTokenizer()))
    assert (labels != PAD).sum() == chosen


def test_random_tokens_reach_all_ordinary_ones_wherever_special_ones_are():
    vocabulary = ["a", "[MASK]", "b", "[PAD]", "c", "[UNK]", "[START]", "[END]"]
    tokenizer = CharacterTokenizer(vocabulary)
    data = rows([[0, 2, 4] * 200])
    tokens, labels = both(mask_tokens(data, tokenizer, rate=1.0))
    assert set(tokens.ravel()) == {0, 1, 2, 4}
    assert set(labels.ravel()) == {0, 2, 4}


def test_every_epoch_hides_others_and_a_seed_hides_the_same():
    data = rows([[50] * 40] * 4)

    def epochs(seed):
        dataset = mask_tokens(data, ByteTokenizer(), seed=seed)
        return [list(both(dataset))[1].tolist() for _ in range(2)]

    first, second = epochs(1)
    assert first != second
    assert len({str(row) for row in first}) == 4
    assert epochs(1) == [first, second]
    assert epochs(2)[0] != first


def test_other_inputs_and_shapes_stay():
    data = masked_language_model(
        texts(text=["abc", "d"], text_pair=["e", "f"]), ByteTokenizer()
    )
    batched = batches(data, 2, lengths=9)
    masked = mask_tokens(batched, ByteTokenizer())
    assert masked.element_spec == batched.element_spec
    (((inputs, _), (plain, _)),) = tf.data.Dataset.zip(masked, batched)
    assert inputs["segments"].numpy().tolist() == (
        plain["segments"].numpy().tolist()
    )


def test_a_saved_iterator_hides_the_same_tokens(tmp_path):
    data = masked_language_model(
        texts(text=[str(number) * 9 for number in range(30)]), ByteTokenizer()
    )

    def dataset():
        batched = batches(data, 2, lengths=[11, 20], shuffle=5, cache=True)
        return mask_tokens(batched, ByteTokenizer()).repeat(2)

    whole = [labels.numpy().tolist() for _, labels in dataset()]
    iterator = iter(dataset())
    seen = [next(iterator)[1].numpy().tolist() for _ in range(18)]
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    next(iterator)
    resumed = iter(dataset())
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    assert seen + [labels.numpy().tolist() for _, labels in resumed] == whole
    assert len(whole) == 30


@pytest.mark.parametrize("rate", [0, -0.1, 1.1])
def test_a_rate_that_is_no_share_is_refused(rate):
    with pytest.raises(ValueError, match=f"`rate`.*rate={rate}"):
        mask_tokens(rows([[5]]), ByteTokenizer(), rate=rate)


def test_a_vocabulary_without_mask_is_refused():
    tokenizer = CharacterTokenizer(["[PAD]", "[UNK]", "[START]", "[END]", "a"])
    with pytest.raises(ValueError, match="no MASK token"):
        masked_language_model(texts(text=["a"]), tokenizer)
    with pytest.raises(ValueError, match="no MASK token"):
        mask_tokens(rows([[5]]), tokenizer)
