"""Variables that every replica of a model changes on its own."""

import keras
import numpy as np
import tensorflow as tf

from keras_attn.training.resuming import workers


def may_differ(variable: keras.Variable) -> bool:
    """Whether replicas may hold different values.

    Those of metrics do. Those that no gradient changes may: Keras does not
    bring the moving averages of replicas together.
    """
    value = variable.value
    return isinstance(value, tf.distribute.DistributedValues) and (
        _is_summed(value)
        or (not variable.trainable and variable.aggregation == "none")
    )


class ReplicaReader:
    """Reads the values of all replicas, also of those of other workers.

    Args:
        strategy: The model's.
    """

    def __init__(self, strategy: tf.distribute.Strategy):
        self._strategy = strategy
        self._gather = None

    def read(self, variables: list) -> list:
        """Read, in the strategy's scope, by all workers at once.

        Args:
            variables: Keras variables that may differ, always the same ones.

        Returns:
            NumPy arrays, (replicas, ...), or (...) if all are equal and no
            sum of them counts.
        """
        if not variables:
            return []
        if workers.number_of_workers(self._strategy) == 1:
            local = self._strategy.experimental_local_results
            arrays = [
                np.stack([np.array(x) for x in local(v.value)])
                for v in variables
            ]
        else:
            arrays = [np.array(x) for x in self._gathered(variables)]
        return [
            array[0]
            if not _is_summed(v.value) and (array == array[:1]).all()
            else array
            for v, array in zip(variables, arrays, strict=True)
        ]

    def _gathered(self, variables):
        strategy = self._strategy
        if self._gather is None:
            # A function that is kept: it is traced once.
            @tf.function
            def gather():
                values = strategy.run(
                    lambda: [tf.expand_dims(v.value, 0) for v in variables]
                )
                return [strategy.gather(value, axis=0) for value in values]

            self._gather = gather
        return self._gather()


def write(pairs: list, strategy: tf.distribute.Strategy) -> None:
    """Give every replica its own values.

    If there are more or fewer replicas than there were, they get what makes
    the same sum or mean.

    Args:
        pairs: Keras variables, each with what was read of it, (replicas, ...).
        strategy: Whose scope this is called in.
    """
    number = strategy.num_replicas_in_sync
    own = []
    for variable, array in pairs:
        if may_differ(variable) and len(array) == number:
            own.append((variable.value, array))
        else:
            variable.assign(_together(array, variable.aggregation))

    def assign():
        place = tf.distribute.get_replica_context().replica_id_in_sync_group
        for value, array in own:
            value.assign(tf.gather(array, place))

    if own:
        tf.function(lambda: strategy.run(assign))()


def _is_summed(value):
    return value.synchronization == tf.VariableSynchronization.ON_READ


def _together(array, aggregation):
    if aggregation == "sum":
        return array.sum(0, dtype=array.dtype)
    if array.dtype.kind in "fV" and aggregation in ("mean", "none"):
        return array.mean(0, dtype=array.dtype)
    return array[0]
