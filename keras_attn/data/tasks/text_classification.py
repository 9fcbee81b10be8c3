"""Texts and their labels as training examples."""

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.tasks import encoding
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import join_pair
from keras_attn.text.layouts import pair_special
from keras_attn.text.layouts import truncate_pair
from keras_attn.text.tokenizer import Tokenizer


def text_classification(
    examples: tf.data.Dataset,
    tokenizer: Tokenizer,
    *,
    max_length: int | None = None,
) -> tf.data.Dataset:
    """Training examples of classifying a text or a pair of texts.

        tokens = START, text, END[, text_pair, END]

    Args:
        examples: `{"text", "label"}` or `{"text", "text_pair", "label"}`:
            scalar strings, and a label, which is a class as an integer or,
            for regression, a floating-point number.
        tokenizer: Its START and END are BERT's [CLS] and [SEP].
        max_length: The most tokens of a row, START and END included. A longer
            text loses its last ones, of two the longer one first, as in the
            exported model; None leaves all, for `batches` to decide.

    Returns:
        `({"tokens", "segments"}, label)`: int32 (tokens,) each, and an int32 or
        float32 scalar. `segments` are 0, and 1 in the second text.

    Reference:
        Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
    """
    encoding.check_texts(examples, "text", optional="text_pair")
    check_special(tokenizer, "start", "end")
    dtype = _label_type(examples.element_spec)
    if max_length is not None:
        # Room for START, END, END and a token.
        least = pair_special(tokenizer, 2) + 1
        argument_checks.integer(max_length, "max_length", at_least=least)

    def encode(example):
        first, second = [*encoding.text_ids(tokenizer, example), None][:2]
        if max_length is not None:
            texts = 1 if second is None else 2
            room = max_length - pair_special(tokenizer, texts)
            first, second, _ = truncate_pair(first, second, room)
        inputs = join_pair(tokenizer, first, second)
        return inputs, tf.cast(example["label"], dtype)

    return encoding.encode(examples, encode)


def _label_type(fields):
    label = fields.get("label", tf.TensorSpec(None, tf.string))
    if label.dtype.is_integer or label.dtype.is_bool:
        return tf.int32
    if label.dtype.is_floating:
        return tf.float32
    raise ValueError(
        "Examples must have a numerical `label`. Received: "
        f"{fields}. Turn names of classes into numbers first."
    )
