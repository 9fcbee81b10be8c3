"""How long examples are, and what becomes of those that are too long."""

import dataclasses
import sys
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.pipeline.sentinel import keep_marked
from keras_attn.data.pipeline.sentinel import mark_end

CHOICES = ("error", "drop", "truncate")
_FATES = {"drop": "left out", "truncate": "truncated"}


@dataclasses.dataclass(frozen=True)
class LengthCount:
    """What `count_too_long` found.

    Args:
        examples: How many examples there are.
        too_long: How many of them are longer than `limit`.
        limit: The greatest length that is allowed.
        longest: The length of the longest example, 0 if there is none.
    """

    examples: int
    too_long: int
    limit: int
    longest: int


def count_too_long(
    examples: tf.data.Dataset, lengths: int | Sequence[int]
) -> LengthCount:
    """Read all examples once and count those that do not fit.

        too_long = Σ [length of an example > greatest of the lengths]

    Args:
        examples: As for `batches`, unbatched.
        lengths: As for `batches`; the greatest is the limit.

    Returns:
        The numbers of examples, in Python.
    """
    limit = check_lengths(lengths)[-1]
    is_sequence = find_sequences(examples.element_spec)

    def step(counts, example):
        length = tf.cast(_length(example, is_sequence), tf.int64)
        total, too_long, longest = tf.unstack(counts)
        too_long += tf.cast(length > limit, tf.int64)
        return tf.stack([total + 1, too_long, tf.maximum(longest, length)])

    counts = examples.reduce(tf.zeros(3, tf.int64), step)
    total, too_long, longest = (int(count) for count in counts)
    return LengthCount(total, too_long, limit, longest)


def count_by_length(
    examples: tf.data.Dataset, lengths: Sequence[int] | None
) -> list[int]:
    """Read all examples once and count those of each length.

    Args:
        examples: As for `batches`, unbatched.
        lengths: Increasing ones; an example has the first that it fits. None
            if there are no sequences.

    Returns:
        One number for each length, and one for those that are too long.
    """
    find = bucket_of(examples.element_spec, lengths)
    size = 2 if lengths is None else len(lengths) + 1

    def step(counts, example):
        return counts + tf.one_hot(find(example), size, dtype=tf.int64)

    start = tf.zeros(size, tf.int64)
    return examples.reduce(start, step).numpy().tolist()


def bucket_of(spec, lengths: Sequence[int] | None):
    """Make a function that says which of the lengths an example takes.

    Args:
        spec: The `element_spec` of unbatched examples.
        lengths: Increasing ones, or None if there are no sequences.

    Returns:
        A function: example -> scalar, the place of the first length that it
        fits; of one that is too long, the number of lengths.
    """
    is_sequence = find_sequences(spec)
    if lengths is None:
        return lambda example: tf.constant(0, tf.int64)

    def find(example):
        fits = _length(example, is_sequence) <= [*lengths, tf.int32.max]
        return tf.argmax(fits)

    return find


def check_lengths(lengths: int | Sequence[int]) -> tuple[int, ...]:
    """Take one length, or increasing ones, as a tuple."""
    given = tuple(lengths) if isinstance(lengths, Sequence) else (lengths,)
    whole = all(argument_checks.is_integer(n) and n > 0 for n in given)
    if not given or not whole or sorted(set(given)) != list(given):
        raise ValueError(
            "`lengths` must be a positive integer or increasing ones, the "
            f"lengths that rows are padded to. Received: lengths={lengths!r}"
        )
    return given


def find_sequences(spec) -> list[bool]:
    """Say which components of an example have no fixed number of rows.

    Args:
        spec: The `element_spec` of unbatched examples.

    Returns:
        One boolean for each component, in the order of `tf.nest.flatten`.

    Raises:
        ValueError: For a component that padding cannot make static.
    """
    return [_is_sequence(component) for component in tf.nest.flatten(spec)]


def longest(is_sequence: list[bool]):
    """Make a function that gives the length of an example's longest sequence.

    Args:
        is_sequence: From `find_sequences`.

    Returns:
        A function for `Dataset` methods: example -> scalar int32.
    """

    def length(*example):
        return _length(example, is_sequence)

    return length


def fit(
    examples: tf.data.Dataset, limit: int, too_long: str
) -> tf.data.Dataset:
    """Make sure that no example is longer than `limit`.

    Args:
        examples: Unbatched.
        limit: The greatest length that is allowed.
        too_long: "error" raises at the first that is longer, "drop" leaves
            them out, "truncate" keeps their first `limit` rows; the last two
            say how many on standard error when the examples end.

    Returns:
        The examples, in order.
    """
    is_sequence = find_sequences(examples.element_spec)
    if too_long == "error":
        return examples.map(_refuse(examples.element_spec, is_sequence, limit))
    cardinality = examples.cardinality()
    # The counts go from example to example, for a variable could not be saved
    # with the iterator; the mark at the end says when to report them.
    fitted = keep_marked(
        mark_end(examples).scan(
            tf.zeros(2, tf.int64), _count(is_sequence, limit, too_long)
        )
    )
    if too_long == "truncate" and cardinality >= 0:
        fitted = fitted.apply(
            tf.data.experimental.assert_cardinality(cardinality)
        )
    return fitted


def _refuse(spec, is_sequence, limit):
    sentence = (
        f"An example is longer than {limit}, the greatest of `lengths`. Give a "
        "greater one, or pass `too_long` as drop to leave such examples out or "
        "as truncate to keep their beginning. `count_too_long` says how many "
        "there are. This one's length:"
    )

    def check(*example):
        length = _length(example, is_sequence)
        assertion = tf.debugging.Assert(length <= limit, [sentence, length])
        with tf.control_dependencies([assertion]):
            components = [tf.identity(c) for c in tf.nest.flatten(example)]
        # From the specification: a method calls its function with the parts
        # of a tuple, and a tuple of one looks like its part.
        return tf.nest.pack_sequence_as(spec, components)

    return check


def _count(is_sequence, limit, too_long):
    def step(counts, marked):
        example, ends = marked
        is_long = _length(example, is_sequence) > limit
        counts += tf.cast(tf.stack([~ends, is_long]), tf.int64)
        tf.cond(
            ends & (counts[1] > 0),
            lambda: _report(counts, limit, _FATES[too_long]),
            tf.no_op,
        )
        kept = ~ends
        if too_long == "drop":
            return counts, (example, kept & ~is_long)
        rows = [
            component[:limit] if sequence else component
            for component, sequence in zip(
                tf.nest.flatten(example), is_sequence, strict=True
            )
        ]
        return counts, (tf.nest.pack_sequence_as(example, rows), kept)

    return step


def _report(counts, limit, fate):
    total, too_long = tf.unstack(tf.strings.as_string(counts))
    verb = tf.where(counts[1] == 1, "was", "were")
    sentence = ["keras_attn.data:", too_long, "of", total, "examples", verb]
    sentence += [f"longer than {limit} and", verb, f"{fate}."]
    return tf.print(tf.strings.join(sentence, " "), output_stream=sys.stderr)


def _length(example, is_sequence):
    lengths = [
        tf.shape(component)[0]
        for component, sequence in zip(
            tf.nest.flatten(example), is_sequence, strict=True
        )
        if sequence
    ]
    return tf.reduce_max(tf.stack(lengths)) if lengths else tf.constant(0)


def _is_sequence(spec):
    if not isinstance(spec, tf.TensorSpec):
        raise ValueError(
            "Examples must be made of dense tensors. Received: "
            f"{spec}. Ragged rows come one by one after `unbatch`, and dense "
            "after one more `map`."
        )
    if spec.shape.rank is None or None in spec.shape[1:]:
        raise ValueError(
            "Only the first axis of an example's component may be unknown. "
            f"Received: {spec}. Fix the others with `tf.ensure_shape`."
        )
    return spec.shape.rank > 0 and spec.shape[0] is None
