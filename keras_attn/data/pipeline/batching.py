"""The road from examples to batches of fixed shapes."""

import pathlib
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.base.wait_notice import WaitNotice
from keras_attn.data.pipeline import lengths as sizes
from keras_attn.data.pipeline import padding
from keras_attn.data.pipeline import remainders
from keras_attn.data.pipeline.auto_lengths import choose_and_report
from keras_attn.data.pipeline.caching import keep

# Tokenizing and counting so many pairs takes two cores about ten seconds; who
# has more caches them, or does not want to wait.
COUNTED_AT_ONCE = 100_000


def batches(
    examples: tf.data.Dataset,
    batch_size: int | Sequence[int],
    *,
    lengths: int | Sequence[int] | str | None = None,
    too_long: str = "error",
    pad_id: int = 0,
    shuffle: int | None = None,
    seed: int = 0,
    cache: bool | str | pathlib.Path | None = None,
    shard: tuple[int, int] | None = None,
    drop_remainder: bool = True,
) -> tf.data.Dataset:
    """Make batches whose shapes are known before the first one comes.

        length = min {n in lengths: n >= longest sequence of the example}

    XLA compiles once for each length. The order is the same in every run, and
    a `tf.train.Checkpoint` of the iterator resumes at the same example.

    Args:
        examples: Unbatched, of any structure. A component whose first axis is
            unknown is a sequence; an example is as long as its longest.
        batch_size: Rows of a batch, or one number for each of `lengths`.
        lengths: What sequences are padded to: one length, or increasing ones,
            of which an example takes the first that it fits. "auto" chooses
            at most four, as `auto_lengths` does, and says which. None if
            the examples have fixed shapes.
        too_long: What becomes of an example that fits none: "error", "drop",
            or "truncate", which keeps its first tokens, so an END at its end
            goes. The last two say how many on standard error after each pass.
        pad_id: Pads integers, but "segments" and "positions", which get 0 as
            numbers do; strings get "".
        shuffle: Examples to choose the next one from; anew in every pass.
        seed: Fixes the order, together with `tf.random.set_seed`.
        cache: True keeps examples in memory, where every checkpoint of the
            iterator takes them along; a path keeps them in files, written at
            once, which outlive a change of the examples: delete them then.
        shard: (index, count) of this worker, which gets every count-th
            example. Shard the source instead, before its texts are tokenized,
            where that takes long. Workers may differ by a batch.
        drop_remainder: Whether rows that fill no batch are left out; standard
            error says how many, at once if they are counted, else after each
            pass, and a length that fills no batch at all is an error. If not,
            the number of rows is not static.

    Returns:
        The examples' structure, (batch, length, ...). With several lengths
        the second axis is None; `bucket_specs` tells the shapes. Its
        `cardinality` is known if examples are cached, or are at most 100,000
        texts whose number is known: they are read once here and counted.
        Otherwise Keras warns after each epoch, and may count a step that was
        none; and counting what fills no batch, in every pass, takes time.
    """
    argument_checks.choice(too_long, "too_long", sizes.CHOICES)
    is_auto = isinstance(lengths, str) and lengths == "auto"
    if is_auto:
        _check_auto(batch_size, shard)
    else:
        if lengths is not None:
            lengths = sizes.check_lengths(lengths)
        rows = _check_rows(batch_size, lengths)
    _check_shapes(examples.element_spec, lengths)
    options = tf.data.Options()
    options.deterministic = True
    sharding = tf.data.experimental.AutoShardPolicy
    if shard is not None:
        examples = _share(examples, *shard)
        # A strategy would share out each worker's share once more.
        options.experimental_distribute.auto_shard_policy = sharding.OFF
        if isinstance(cache, str | pathlib.Path):
            # Workers that share a disk keep their own examples.
            cache = f"{cache}-{shard[0]}-of-{shard[1]}"
    examples = keep(examples, cache)
    if is_auto:
        lengths, counts = choose_and_report(
            examples, batch_size if drop_remainder else 1
        )
        rows = _check_rows(batch_size, lengths)
    else:
        counts = _count(examples, lengths, too_long, is_cached=bool(cache))
    if lengths is not None:
        examples = sizes.fit(examples, lengths[-1], too_long)
    if counts is not None:
        examples = _of_number(examples, sum(counts))
    if drop_remainder:
        examples = _check_remainders(examples, counts, rows, lengths)
    if shuffle is not None:
        examples = examples.shuffle(
            argument_checks.integer(shuffle, "shuffle", at_least=1), seed
        )
    batched = _batch(examples, rows, lengths, pad_id, drop_remainder)
    if counts is not None:
        # Rounded down, or up.
        numbers = [
            count // size if drop_remainder else -(-count // size)
            for count, size in zip(counts, rows, strict=True)
        ]
        batched = _of_number(batched, sum(numbers))
        if shard is None:
            # A worker that was given some of the files would have fewer.
            options.experimental_distribute.auto_shard_policy = sharding.DATA
    return batched.prefetch(tf.data.AUTOTUNE).with_options(options)


def bucket_specs(
    dataset: tf.data.Dataset,
    lengths: int | Sequence[int],
    batch_size: int | Sequence[int] | None = None,
) -> list:
    """List the static shapes that batches come in.

    For compiling a training step before the first batch.

    Args:
        dataset: What `batches` returned.
        lengths: As given to `batches`.
        batch_size: As given to `batches`; needed if it differs from length to
            length or the remainder is kept.

    Returns:
        One `element_spec` for each length, (batch, length, ...).
    """
    lengths = sizes.check_lengths(lengths)
    if batch_size is None:
        rows = (None,) * len(lengths)
    else:
        rows = _check_rows(batch_size, lengths)

    def static(spec, length, size):
        axes = spec.shape.as_list()
        if axes[0] is None:
            axes[0] = size
        if None in axes[1:2]:
            axes[1] = length
        if None in axes:
            raise ValueError(
                "The number of rows is not static. Pass the `batch_size` that "
                f"was given to `batches`. Received: {spec}"
            )
        return tf.TensorSpec(axes, spec.dtype)

    return [
        tf.nest.map_structure(
            lambda spec, n=length, b=size: static(spec, n, b),
            dataset.element_spec,
        )
        for length, size in zip(lengths, rows, strict=True)
    ]


def _batch(examples, rows, lengths, pad_id, drop_remainder):
    if lengths is None:
        return examples.batch(rows[0], drop_remainder=drop_remainder)
    spec = examples.element_spec
    values = padding.values(spec, pad_id)
    if len(lengths) == 1:
        shapes = padding.shapes(spec, lengths[0])
        return examples.padded_batch(rows[0], shapes, values, drop_remainder)
    batched = examples.bucket_by_sequence_length(
        sizes.longest(sizes.find_sequences(spec)),
        bucket_boundaries=[length + 1 for length in lengths],
        # The last is for examples that are too long, and there are none left.
        bucket_batch_sizes=[*rows, rows[-1]],
        padding_values=values,
        pad_to_bucket_boundary=True,
        drop_remainder=drop_remainder,
    )
    if len(set(rows)) > 1 or not drop_remainder:
        return batched

    def with_rows(*batch):
        components = [
            tf.ensure_shape(component, (rows[0], *component.shape[1:]))
            for component in tf.nest.flatten(batch)
        ]
        return tf.nest.pack_sequence_as(spec, components)

    return batched.map(with_rows, tf.data.AUTOTUNE)


def _check_remainders(examples, counts, rows, lengths):
    if counts is not None:
        remainders.check_counted(counts, rows, lengths)
    elif examples.cardinality() != tf.data.INFINITE_CARDINALITY:
        return remainders.check_when_they_end(examples, rows, lengths)
    return examples


def _count(examples, lengths, too_long, *, is_cached):
    """How many examples of each length there will be; None if not known."""
    total = int(examples.cardinality())
    all_fit = lengths is None or (len(lengths) == 1 and too_long != "drop")
    if all_fit and total >= 0:
        return [total]
    has_images = any(
        component.shape.rank > 2
        for component in tf.nest.flatten(examples.element_spec)
    )
    is_quick = 0 <= total <= COUNTED_AT_ONCE and not has_images
    if not is_cached and not is_quick:
        return None
    with WaitNotice("keras_attn.data", "reading examples once to count them"):
        *counts, rest = sizes.count_by_length(examples, lengths)
    if too_long == "truncate":
        counts[-1] += rest
    return counts


def _of_number(dataset, number):
    if dataset.cardinality() != tf.data.UNKNOWN_CARDINALITY:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(number))


def _check_rows(batch_size, lengths):
    """One number of rows for each length, as a tuple."""
    count = 1 if lengths is None else len(lengths)
    if argument_checks.is_integer(batch_size):
        batch_size = (batch_size,) * count
    if len(batch_size) != count:
        raise ValueError(
            "`batch_size` must be one number, or one for each of `lengths`. "
            f"Received: batch_size={batch_size}, lengths={lengths}"
        )
    return tuple(
        argument_checks.integer(size, "batch_size", at_least=1)
        for size in batch_size
    )


def _check_auto(batch_size, shard):
    if not argument_checks.is_integer(batch_size):
        raise ValueError(
            'With lengths="auto" it is not known how many lengths there will '
            "be, so `batch_size` is one number. Received: "
            f"batch_size={batch_size!r}"
        )
    argument_checks.integer(batch_size, "batch_size", at_least=1)
    if shard is not None:
        raise ValueError(
            "Each worker would choose lengths of its own. Choose them from "
            "all examples, lengths=auto_lengths(examples), and give them to "
            "every worker."
        )


def _check_shapes(spec, lengths):
    there_are_sequences = any(sizes.find_sequences(spec))
    if there_are_sequences and lengths is None:
        raise ValueError(
            "`lengths` is needed, because a component of the examples has no "
            f"fixed length. Received: {spec}"
        )
    if lengths is not None and not there_are_sequences:
        raise ValueError(
            "All components of the examples have fixed shapes, so `lengths` "
            f"has nothing to pad: leave it out. Received: lengths={lengths}, "
            f"examples of {spec}"
        )


def _share(examples, index, count):
    if not 0 <= index < count:
        raise ValueError(
            "`shard` must be (index, count) with an index from 0 to count - 1. "
            f"Received: shard=({index}, {count})"
        )
    return examples.shard(count, index)
