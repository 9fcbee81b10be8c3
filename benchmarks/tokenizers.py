"""Our tokenizers and those of tensorflow-text and KerasHub, side by side."""

import tensorflow as tf

from benchmarks.measure import time_steps
from keras_attn import text

REPEATS = 10


def measure(
    learn_from: list[str],
    read: list[str],
    *,
    vocabulary_size: int,
    batch_size: int,
    rounds: int,
) -> dict[str, float]:
    """Lines/s of each tokenizer inside `tf.data`.

    Each is mapped one call after the other and in parallel, and the better
    way counts: calls in parallel make a quick function slower.

    Args:
        learn_from: Lines that the vocabularies are learned from.
        read: Other lines, which are read.
        vocabulary_size: Tokens of each vocabulary.
        batch_size: Lines that a tokenizer is given at once.
        rounds: How many turns each tokenizer gets.
    """
    tokenizers = {
        **_word_piece(learn_from, vocabulary_size),
        **_byte_pair(learn_from, vocabulary_size),
    }
    lines = tf.data.Dataset.from_tensor_slices(read).batch(batch_size).cache()
    # Starting an iterator takes as long as thousands of lines.
    lines = lines.repeat(REPEATS)
    steps = {
        (name, calls): _pass_over(lines.map(tokenizer, calls))
        for name, tokenizer in tokenizers.items()
        for calls in (None, tf.data.AUTOTUNE)
    }
    best = time_steps(steps, rounds=rounds, seconds=1.0)
    count = REPEATS * len(read)
    speeds = {name: [] for name in tokenizers}
    for (name, _), milliseconds in best.items():
        speeds[name].append(count / (milliseconds / 1e3))
    return {name: max(found) for name, found in speeds.items()}


def _word_piece(learn_from, size):
    import keras_hub
    import tensorflow_text

    vocabulary = text.learn_vocabulary(learn_from, size, kind="wordpiece")
    special = ["[PAD]", "[UNK]", "[START]", "[END]", "[MASK]"]
    return {
        "WordPiece, ours": text.WordPieceTokenizer(vocabulary),
        "WordPiece, tensorflow-text": tensorflow_text.FastWordpieceTokenizer(
            vocabulary
        ).tokenize,
        "WordPiece, KerasHub": keras_hub.tokenizers.WordPieceTokenizer(
            vocabulary, special_tokens=special
        ),
    }


def _byte_pair(learn_from, size):
    import keras_hub

    vocabulary, merges = text.learn_vocabulary(learn_from, size, kind="bpe")
    ids = {token: number for number, token in enumerate(vocabulary)}
    theirs = keras_hub.tokenizers.BytePairTokenizer(ids, merges)
    return {
        "BPE, ours": text.BytePairTokenizer(vocabulary, merges),
        "BPE, KerasHub": theirs,
    }


def _pass_over(dataset):
    """One pass over the dataset, in graph."""

    @tf.function
    def count():
        return dataset.reduce(
            tf.constant(0, tf.int64),
            lambda total, ids: total + tf.size(ids.flat_values, tf.int64),
        )

    return lambda: count().numpy()
