"""Examples that fill no batch: counted and told, or refused."""

import sys
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.data.pipeline.lengths import bucket_of
from keras_attn.data.pipeline.sentinel import keep_marked
from keras_attn.data.pipeline.sentinel import mark_end


def check_counted(
    counts: Sequence[int], rows: Sequence[int], lengths: Sequence[int] | None
) -> None:
    """Raise ValueError if examples of a length do not fill one batch.

    With several lengths, standard error says how many will be left out.

    Args:
        counts: How many examples there are of each length.
        rows: Rows of a batch, one number for each length.
        lengths: Increasing ones, or None if there are no sequences.
    """
    complaint = _complaint(tf.constant(counts, tf.int64), rows, lengths)
    if complaint != "":
        raise ValueError(complaint.numpy().decode())
    pairs = zip(counts, rows, strict=True)
    left_out = sum(count % size for count, size in pairs)
    if left_out and len(rows) > 1:
        print(
            f"keras_attn.data: {left_out} of {sum(counts)} examples fill no "
            "batch, and as many are left out in every pass.",
            file=sys.stderr,
        )


def check_when_they_end(
    examples: tf.data.Dataset,
    rows: Sequence[int],
    lengths: Sequence[int] | None,
) -> tf.data.Dataset:
    """The same examples, counted in every pass because they were not before.

    When they end, standard error says how many fill no batch; it is an error
    if those of a length do not fill one.

    Args:
        examples: Unbatched, none too long.
        rows: Rows of a batch, one number for each length.
        lengths: Increasing ones, or None if there are no sequences.

    Returns:
        The examples, in order. They are to be shuffled after this: an
        iterator that was saved does not resume in the same order if it scans
        what was shuffled.
    """
    find = bucket_of(examples.element_spec, lengths)

    def step(counts, marked):
        example, ends = marked
        one = tf.one_hot(find(example), len(rows), dtype=tf.int64)
        counts += tf.where(ends, tf.zeros_like(one), one)
        tf.cond(ends, lambda: _report(counts, rows, lengths), tf.no_op)
        return counts, (example, ~ends)

    # The counts go from example to example, for a variable could not be saved
    # with the iterator.
    start = tf.zeros(len(rows), tf.int64)
    return keep_marked(mark_end(examples).scan(start, step))


def _report(counts, rows, lengths):
    complaint = _complaint(counts, rows, lengths)
    left_out = tf.reduce_sum(counts % rows)
    verb = tf.where(left_out == 1, "was", "were")
    total = tf.strings.as_string(tf.reduce_sum(counts))
    sentence = ["keras_attn.data:", tf.strings.as_string(left_out), "of", total]
    sentence += ["examples filled no batch and", verb, "left out."]
    with tf.control_dependencies(
        [tf.debugging.Assert(complaint == "", [complaint])]
    ):
        return tf.cond(
            left_out > 0,
            lambda: tf.print(
                tf.strings.join(sentence, " "), output_stream=sys.stderr
            ),
            tf.no_op,
        )


def _complaint(counts, rows, lengths):
    """What is wrong with the counts, or nothing, as a string of the graph."""
    names = [""]
    if lengths is not None and len(lengths) > 1:
        starts = [0, *(length + 1 for length in lengths[:-1])]
        names = [
            f" of length {start} to {length}"
            for start, length in zip(starts, lengths, strict=True)
        ]
    parts = [tf.strings.as_string(counts), names]
    parts += [" for a batch of ", tf.strings.as_string(rows)]
    too_few = tf.boolean_mask(
        tf.strings.join(parts), (counts > 0) & (counts < rows)
    )
    sentence = [
        "There are too few examples: ",
        tf.strings.reduce_join(too_few, separator=", "),
        ". All of these would be left out. Choose a smaller `batch_size` or "
        "fewer `lengths`, or pass drop_remainder=False.",
    ]
    return tf.where(tf.size(too_few) > 0, tf.strings.join(sentence), "")
