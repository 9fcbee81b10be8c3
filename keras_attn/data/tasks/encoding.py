"""Tokenizing inside a pipeline, many texts at once."""

from collections.abc import Callable

import tensorflow as tf

from keras_attn.text.tokenizer import Tokenizer

# Enough to make the cost of a call small beside that of its texts.
TEXTS_AT_ONCE = 256


def encode(
    examples: tf.data.Dataset,
    function: Callable,
    *,
    at_once: int = TEXTS_AT_ONCE,
) -> tf.data.Dataset:
    """Map a function of many examples over single ones, in order.

    Tokenizers are vectorised: one call for many texts is several times
    faster than one for each.

    Args:
        examples: Unbatched.
        function: Takes (batch, ...) components and returns a structure of
            dense or ragged tensors with the same first axis.
        at_once: How many examples it gets.

    Returns:
        Single examples, dense: a ragged (batch, tokens) gives (tokens,).
    """
    groups = examples.batch(at_once).map(function, tf.data.AUTOTUNE)
    # Rows of a ragged tensor are dense already, but not by their type.
    encoded = groups.unbatch().map(_identity)
    cardinality = examples.cardinality()
    if cardinality == tf.data.UNKNOWN_CARDINALITY:
        return encoded
    return encoded.apply(tf.data.experimental.assert_cardinality(cardinality))


def check_texts(
    examples: tf.data.Dataset, *names: str, optional: str | None = None
) -> None:
    """Raise ValueError unless examples hold scalar strings of these names."""
    spec = examples.element_spec
    fields = spec if isinstance(spec, dict) else {}
    if optional in fields:
        names = (*names, optional)
    text = tf.TensorSpec((), tf.string)
    if not all(text.is_compatible_with(fields.get(name)) for name in names):
        raise ValueError(
            f"Examples must be dictionaries with the scalar strings {names}. "
            f"Received: {spec}. Rename the fields with `Dataset.map`."
        )


def text_ids(tokenizer: Tokenizer, example) -> list:
    """Ids of `text` and, where there is one, of `text_pair`."""
    names = [name for name in ("text", "text_pair") if name in example]
    return [tokenizer(example[name]) for name in names]


def _identity(*example):
    return example[0] if len(example) == 1 else example
