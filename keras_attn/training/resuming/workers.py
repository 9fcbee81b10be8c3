"""Which of several workers writes what all of them read."""

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
    values = strategy.run(lambda: tf.constant(float(value)))
    return float(strategy.reduce("SUM", values, axis=None)) > 0
