"""Updates by gradients of all replicas."""

import tensorflow as tf

from keras_attn.training.distribution.replica_step import dense


def apply_gradients(optimizer, gradients: list, variables: list) -> None:
    """Update variables, in a replica, by the sum of the replicas' gradients.

    Keras' optimizers clip what each replica has and sum afterwards, and look
    for overflow in a replica alone. So where they do, gradients are summed
    here; divided by the number of replicas they are within the limits, and
    Keras' sum makes them whole again.

    Args:
        optimizer: Keras' own, or one with a scaled loss around it.
        gradients: Of this replica; None where there is none.
        variables: What they belong to.
    """
    context = tf.distribute.get_replica_context()
    replicas = context.num_replicas_in_sync
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    limits = (inner.clipnorm, inner.global_clipnorm, inner.clipvalue)
    scaled = inner is not optimizer
    if replicas > 1 and (scaled or any(x is not None for x in limits)):
        gradients = list(gradients)
        there = [i for i, g in enumerate(gradients) if g is not None]
        summed = context.all_reduce(
            tf.distribute.ReduceOp.SUM, [dense(gradients[i]) for i in there]
        )
        scale = tf.cast(optimizer.dynamic_scale, "float32") if scaled else 1.0
        clipped = inner._clip_gradients([g / scale for g in summed])
        for i, gradient in zip(there, clipped, strict=True):
            gradients[i] = gradient * scale / replicas
    optimizer.apply(gradients, variables)
