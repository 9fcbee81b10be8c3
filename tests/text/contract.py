"""What every tokenizer must do, whatever its tokens are."""

import tensorflow as tf

from keras_attn.text import Tokenizer

# Each has broken some tokenizer: nothing, spaces of many kinds, accents in
# one or two code points, joined emoji, text from right to left, control
# characters, bytes that are not UTF-8.
ODD_TEXTS = [
    b"",
    b"   ",
    b"\t\n\r\x0b\x0c",
    " \u00a0\u1680\u2003\u2028\u3000\ufeff".encode(),
    "caf\u00e9 cafe\u0301 \u212bngstr\u00f6m".encode(),
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd".encode(),
    "\u0634\u0643\u0631\u0627 \u05e9\u05dc\u05d5\u05dd".encode(),
    "\u4f60\u597d\uff0c\u4e16\u754c".encode(),
    b"a\x00b\x01\x7f",
    b"\xff\xfe ab \xe2\x82 c\xc3",
    b"\xed\xa0\x80 \xf5\x80\x80\x80",
    b"don't stop-me: now!! [UNK] ##s",
    b"x" * 300,
]


def check_tokenizer(tokenizer, texts, folder):
    """Assert all claims for a tokenizer.

    Args:
        tokenizer: The tokenizer.
        texts: Strings of which it knows at least a part.
        folder: An empty folder.
    """
    texts = [*map(tf.compat.as_bytes, texts), *ODD_TEXTS]
    ids = tokenizer(texts)
    rows = ids.to_list()
    check_ids(tokenizer, ids)
    check_special_tokens(tokenizer)
    check_ranks(tokenizer, texts, rows)
    check_modes(tokenizer, texts, ids)
    check_no_id_breaks_it(tokenizer)
    check_long_texts(tokenizer, texts)
    check_save_and_load(tokenizer, texts, rows, folder)


def check_ids(tokenizer, ids):
    assert isinstance(ids, tf.RaggedTensor) and ids.dtype == tf.int32
    assert 0 <= tf.reduce_min(ids.values)
    assert tf.reduce_max(ids.values) < tokenizer.vocabulary_size
    assert tokenizer.vocabulary_size == len(tokenizer.vocabulary)
    for number, token in enumerate(tokenizer.vocabulary):
        assert tokenizer.id_of(token) == number


def check_ranks(tokenizer, texts, rows):
    """One text, a batch, a grid, a ragged grid and nothing agree."""
    for text, row in zip(texts[:3], rows, strict=False):
        assert tokenizer(text).numpy().tolist() == row
    grid = tf.reshape(texts[:6], [3, 2])
    assert tokenizer(grid).to_list() == [rows[0:2], rows[2:4], rows[4:6]]
    ragged = tf.RaggedTensor.from_row_lengths(texts[:4], [3, 0, 1])
    assert tokenizer(ragged).to_list() == [rows[:3], [], rows[3:4]]
    assert tokenizer([]).to_list() == []
    strings = tokenizer.detokenize(tokenizer(texts))
    assert strings.shape == (len(texts),) and strings.dtype == tf.string
    strings = strings.numpy().tolist()
    assert tokenizer.detokenize(rows[0]).numpy() == strings[0]
    assert tokenizer.detokenize(tokenizer(ragged)).to_list() == [
        strings[:3],
        [],
        strings[3:4],
    ]
    assert tokenizer.detokenize(tf.zeros((2, 3, 0), "int32")).shape == (2, 3)


def check_modes(tokenizer, texts, ids):
    """Eager, graph and tf.data agree, both ways."""
    strings = tokenizer.detokenize(ids).numpy().tolist()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def both_ways(texts):
        ids = tokenizer(texts)
        return ids, tokenizer.detokenize(ids)

    graph_ids, graph_strings = both_ways(tf.constant(texts))
    assert graph_ids.to_list() == ids.to_list()
    assert graph_strings.numpy().tolist() == strings
    dataset = tf.data.Dataset.from_tensor_slices(texts)
    batches = dataset.batch(len(texts)).map(both_ways)
    ((data_ids, data_strings),) = batches
    assert data_ids.to_list() == ids.to_list()
    assert data_strings.numpy().tolist() == strings
    one_by_one = [
        row.tolist() for row in dataset.map(tokenizer).as_numpy_iterator()
    ]
    assert one_by_one == ids.to_list()


def check_special_tokens(tokenizer):
    """They can be gone through, and each has its id."""
    parts = ("pad", "start", "end", "unknown", "mask")
    ids = {part: getattr(tokenizer, f"{part}_id") for part in parts}
    assert {
        part: tokenizer.id_of(token)
        for part, token in tokenizer.special_tokens.items()
    } == {part: number for part, number in ids.items() if number is not None}


def check_no_id_breaks_it(tokenizer):
    size = tokenizer.vocabulary_size
    for odd in (-1, size, size + 1, 2**31 - 1, -(2**31), 2**62, -(2**62)):
        text = tokenizer.detokenize(tf.constant([[odd]], tf.int64)).numpy()[0]
        unknown = tokenizer.special_tokens.unknown or "\ufffd"
        assert text.decode() == unknown or b"\xef\xbf\xbd" == text
    every = tf.range(size)[:, tf.newaxis]
    assert tokenizer.detokenize(every, keep_special=True).shape == (size,)
    special = {
        tokenizer.pad_id,
        tokenizer.start_id,
        tokenizer.end_id,
        tokenizer.mask_id,
    } - {None}
    for number in special:
        assert tokenizer.detokenize([number]).numpy() == b""
        kept = tokenizer.detokenize([number], keep_special=True).numpy()
        assert kept.decode() == tokenizer.vocabulary[number]


def check_long_texts(tokenizer, texts):
    """A megabyte of text reads like its parts."""
    line = texts[0] + b" "
    once = tokenizer([line, line + line]).to_list()
    part = once[1][: len(once[1]) - len(once[0])]
    times = 1_000_000 // len(line) + 1
    (long,) = tokenizer([line * times]).to_list()
    assert long[: 2 * len(part)] == part * 2
    assert len(long) == len(part) * (times - 1) + len(once[0])
    one_word = tokenizer([b"a" * 1_000_000])
    assert one_word.nrows() == 1 and one_word.row_lengths()[0] > 0


def check_save_and_load(tokenizer, texts, rows, folder):
    tokenizer.save(folder)
    for load in (Tokenizer.load, type(tokenizer).load):
        loaded = load(folder)
        assert type(loaded) is type(tokenizer)
        assert loaded.get_config() == tokenizer.get_config()
        assert loaded.vocabulary == tokenizer.vocabulary
        assert loaded.special_tokens == tokenizer.special_tokens
        assert loaded(texts).to_list() == rows
