"""What stands around the two texts of a row."""

import tensorflow as tf

from keras_attn.text.layouts import join_pair
from keras_attn.text.tokenizer import Tokenizer


def pair_frame(tokenizer: Tokenizer) -> tuple[int, int]:
    """Count the special tokens that `layouts.join_pair` adds to two texts.

        row = specials, first text, specials, second text, specials

    Args:
        tokenizer: Says which.

    Returns:
        How many there are in all, and how many after the second text.
    """
    nothing = tf.RaggedTensor.from_row_lengths(tf.zeros([0], tf.int32), [0])
    special = join_pair(tokenizer, nothing, nothing)["tokens"].to_list()[0]
    other = next(n for n in range(len(special) + 1) if n not in special)
    one = tf.RaggedTensor.from_row_lengths([other], [1])
    row = join_pair(tokenizer, nothing, one)["tokens"].to_list()[0]
    return len(special), len(special) - row.index(other)
