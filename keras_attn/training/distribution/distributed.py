"""Any Keras model, ready for any number of replicas."""

import keras

from keras_attn.base import argument_checks
from keras_attn.training.distribution.distributed_fit import DistributedFit


def distributed(model: keras.Model, *, micro_batches: int = 1) -> keras.Model:
    """Give a model a `fit` that is right under any `tf.distribute` strategy.

        loss = Σ weight · loss / Σ weight      over the rows of all replicas

    The models of this library have it already, and only `micro_batches` says
    something new for them. The model must have been made within
    `strategy.scope()`.

    Args:
        model: A `keras.Model`, which is changed; compiled or not yet.
        micro_batches: Gradients of so many parts of a batch are summed, one
            part after the other, before weights change: with a part's memory,
            the step of the whole batch.

    Returns:
        The same model.
    """
    number = argument_checks.integer(micro_batches, "micro_batches", at_least=1)
    if not isinstance(model, keras.Model):
        raise TypeError(
            f"`model` must be a `keras.Model`. Received: {type(model).__name__}"
        )
    if not isinstance(model, DistributedFit):
        own = type(model)
        # Under its own name, by which Keras saves it.
        model.__class__ = type(
            own.__name__, (DistributedFit, own), {"__module__": own.__module__}
        )
    model.micro_batches = number
    model.train_function = model.test_function = None
    return model
