"""Which of several workers writes what all of them read."""

import contextlib

import tensorflow as tf


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process is the only one, or the first of several."""
    resolver = strategy.cluster_resolver
    if number_of_workers(strategy) == 1:
        return True
    if "chief" in resolver.cluster_spec().jobs:
        return resolver.task_type == "chief"
    return resolver.task_type == "worker" and resolver.task_id == 0


def number_of_workers(strategy: tf.distribute.Strategy) -> int:
    """How many processes train one model together."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        # One program drives all devices of the others.
        return 1
    jobs = strategy.cluster_resolver.cluster_spec().as_dict()
    return max(1, sum(len(jobs.get(job, ())) for job in ("chief", "worker")))


def is_distributed(strategy: tf.distribute.Strategy) -> bool:
    """Whether a strategy is none of TensorFlow's default."""
    with strategy.scope():
        return tf.distribute.has_strategy()


def any_of_them(strategy: tf.distribute.Strategy, value: bool) -> bool:
    """Whether `value` is true in any worker. All of them must ask."""
    return _reduce(strategy, "SUM", float(value)) > 0


def check_same(
    strategy: tf.distribute.Strategy, number: int, reason: str
) -> None:
    """Refuse a number that differs between workers. All of them must ask.

    Args:
        strategy: The model's.
        number: This worker's.
        reason: What it means if they differ.

    Raises:
        ValueError: In all workers.
    """
    if number_of_workers(strategy) == 1:
        return
    mean = _reduce(strategy, "MEAN", float(number))
    if _reduce(strategy, "SUM", abs(number - mean)) > 0:
        raise ValueError(reason)


@contextlib.contextmanager
def lost(strategy: tf.distribute.Strategy, last):
    """Say what to do if another worker is lost while this one trains.

    Args:
        strategy: The model's.
        last: A function that names the last checkpoint, or None.

    Raises:
        RuntimeError: Instead of what TensorFlow raises.
    """
    try:
        yield
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        if number_of_workers(strategy) == 1:
            raise
        raise RuntimeError(
            "Another worker was lost, and this one cannot go on alone. Start "
            "all workers again: they continue from "
            f"{last() or 'the beginning'}."
        ) from error


def _reduce(strategy, operation, value):
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(value, tf.float64)
    )
    return float(strategy.reduce(operation, values, axis=None))
