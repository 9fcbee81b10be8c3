"""What replicas tell each other, and in what they differ."""

import keras
import tensorflow as tf

# Far from what seeds differ by otherwise.
_SEED_STEP = 0x9E3779B1


def check(model, *, own_step: bool) -> None:
    """Raise if a model cannot be trained under its strategy.

    Args:
        model: A compiled model that was made in a strategy's scope.
        own_step: Whether its class has a `train_step` of its own.
    """
    number = model.distribute_strategy.num_replicas_in_sync
    if own_step and number > 1:
        raise ValueError(
            f"{type(model).__name__} has a `train_step` of its own, which "
            f"takes the mean over its own rows: {number} replicas would not "
            "train as one. Train it on one device, or give it the step of "
            "Keras and a `compute_loss`."
        )
    if model.steps_per_execution != 1:
        raise ValueError(
            "`steps_per_execution` must be 1 under a strategy: replicas cannot "
            "exchange gradients within TensorFlow's loop. Received: "
            f"{model.steps_per_execution}"
        )
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    if getattr(optimizer, "gradient_accumulation_steps", None):
        raise ValueError(
            "`gradient_accumulation_steps` of Keras' optimizers fails under a "
            "strategy. Let batches be larger and use "
            "`keras_attn.training.distributed(model, micro_batches=…)`."
        )


def check_batches(number: int | None, strategy) -> None:
    """Raise, on all machines, if they have unequal numbers of batches.

    One would wait for what another never sends.

    Args:
        number: Of this machine; None if nobody knows.
        strategy: That of the model.
    """
    if not _has_several_machines(strategy):
        return
    here = tf.constant(-1 if number is None else number, tf.float64)

    @tf.function(autograph=False)
    def sums():
        numbers = strategy.run(lambda: tf.stack([here, here**2]))
        return strategy.reduce("SUM", numbers, axis=None)

    total, squares = sums().numpy()
    if total**2 != squares * strategy.num_replicas_in_sync:
        raise ValueError(
            "The machines have unequal numbers of batches; this one has "
            f"{number}. Give all of them the same dataset, which the strategy "
            "shares out, or end with `.repeat()` and say `steps_per_epoch`."
        )


def summed(numbers: list) -> list:
    """Sums over all replicas, of numbers or None."""
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync == 1:
        return numbers
    there = [x for x in numbers if x is not None]
    sums = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, there))
    return [None if x is None else next(sums) for x in numbers]


def move_seeds(variables: list, values: list, sign: int = 1) -> list:
    """Values in which the states of seeds are this replica's own.

    Args:
        variables: Some of which are states of seeds.
        values: Theirs, as all replicas have them.
        sign: -1 to undo it.
    """
    context = tf.distribute.get_replica_context()
    replica = tf.cast(context.replica_id_in_sync_group, "int64")
    # The first replica's are as without a strategy.
    offset = tf.stack([sign * replica * _SEED_STEP, tf.zeros_like(replica)])
    return [
        value + offset if variable.name == "seed_generator_state" else value
        for variable, value in zip(variables, values, strict=True)
    ]


def compiles_whole_steps(model) -> bool:
    """Whether the strategy compiles all that a replica does, as on a TPU."""
    return isinstance(model.distribute_strategy, tf.distribute.TPUStrategy)


def local_part(batch, strategy):
    """What the first replica of this machine has of a batch."""
    return tf.nest.map_structure(
        lambda x: strategy.experimental_local_results(x)[0], batch
    )


def as_logs(logs: dict, strategy):
    """Logs of a step in the shape in which Keras reduces them."""
    if _has_several_machines(strategy):
        # `reduce_per_replica` takes their mean over an axis.
        return keras.tree.map_structure(lambda x: x[None], logs)
    return logs


def _has_several_machines(strategy):
    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
