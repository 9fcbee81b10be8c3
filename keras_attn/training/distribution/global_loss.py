"""Losses of a replica's batch as shares of the loss of the whole batch."""

import contextlib
import copy
import functools

import keras
import tensorflow as tf
from keras import ops

# While a step is traced: what answers for a loss, and the share of what layers
# add.
_asked = None
_share = 1.0


def global_loss(loss, y_true, y_pred, sample_weight=None):
    """A loss, normalised over all replicas if they train together.

    Without replicas, and outside of `fit`, this is `loss` itself. A model with
    further losses in its `compute_loss` calls them by this.

    Args:
        loss: A `keras.losses.Loss`.
        y_true, y_pred, sample_weight: What it takes.

    Returns:
        A number. The replicas' numbers add up to

            Σ weight · loss / Σ weight            over the whole batch

        with the sums that the loss itself has over its own rows.
    """
    if _asked is None:
        return loss(y_true, y_pred, sample_weight)
    return _asked(loss, y_true, y_pred, sample_weight)


def added_loss(loss):
    """What a layer adds to the loss, as its share of the batch's.

        share = rows · replicas / rows of all replicas

    so that means over rows add up to the mean over all of them.
    """
    share = ops.cast(_share, loss.dtype)
    # The mean over no rows is NaN.
    return share * ops.where(share > 0, loss, ops.zeros_like(loss))


def weight_sums(model, x, y, sample_weight) -> list:
    """What each loss of a batch divides by, in the order of their calls.

    Nothing of the model's result is used but its mask, so that of its forward
    pass in a graph nothing else is left.
    """
    found = []

    def count(loss, *args):
        found.append(weight_sum(loss, *args))
        return tf.zeros((), keras.backend.floatx())

    # So that neither metrics nor seeds change.
    scope = keras.StatelessScope(
        [(x, x) for x in model.variables], collect_losses=True
    )
    with scope, asked(model, count):
        y_pred = call(model, x, training=False)
        loss_of(model, x, y, y_pred, sample_weight, training=False)
    return found


def with_totals(totals, replicas: int, values: list):
    """The answer to `asked` that makes each loss its share.

    Args:
        totals: Of each loss the sum of `weight_sum` over all replicas.
        replicas: How many there are.
        values: A list to which each loss's share is added.
    """
    remaining = list(totals)

    def shared(loss, *args):
        total = remaining.pop(0)
        value = loss(*args)
        if total is not None:
            # Keras divides by the number of replicas, so that equal ones give
            # a mean; here they are not equal.
            share = ops.cast(weight_sum(loss, *args), value.dtype)
            share = tf.math.divide_no_nan(share, ops.cast(total, value.dtype))
            value *= replicas * share
        values.append(ops.cast(value, keras.backend.floatx()))
        return value

    return shared


@contextlib.contextmanager
def asked(model, answer, share=1.0):
    """While a step is traced, let `answer` stand for the model's losses.

    Args:
        model: Its compiled losses, and those that it calls by `global_loss`.
        answer: A function of the loss and its arguments.
        share: For `added_loss`.
    """
    global _asked, _share
    compiled = model._compile_loss
    before = _asked, _share
    losses = None if compiled is None else compiled._flat_losses
    _asked, _share = answer, share
    if losses:
        # `CompileLoss` is where Keras calls them one by one.
        compiled._flat_losses = [
            each._replace(loss=functools.partial(answer, each.loss))
            for each in losses
        ]
    try:
        yield
    finally:
        _asked, _share = before
        if losses:
            compiled._flat_losses = losses


def weight_sum(loss, y_true, y_pred, sample_weight=None):
    """What a loss divides its sum by; None for a loss that is a sum.

    Losses that do not divide as Keras' reductions do have a method of this
    name.
    """
    if hasattr(loss, "weight_sum"):
        return loss.weight_sum(y_true, y_pred, sample_weight)
    reduction = getattr(loss, "reduction", None)
    if reduction in (None, "none", "sum"):
        return None
    mask = getattr(y_pred, "_keras_mask", None)
    if reduction == "mean_with_sample_weight" and sample_weight is not None:
        weights = tf.cast(sample_weight, keras.backend.floatx())
        if mask is not None:
            weights *= tf.cast(mask, weights.dtype)
        return tf.reduce_sum(weights)
    if mask is not None:
        return tf.reduce_sum(tf.cast(mask, keras.backend.floatx()))
    each = copy.copy(loss)
    each.reduction = None
    number = tf.size(each(y_true, y_pred))
    return tf.cast(number, keras.backend.floatx())


def call(model, x, *, training: bool):
    """Call a model as Keras' own steps do."""
    if model._call_has_training_arg:
        return model(x, training=training)
    return model(x)


def loss_of(model, x, y, y_pred, sample_weight, *, training: bool):
    """The model's loss, with what its layers add."""
    return model._compute_loss(
        x=x,
        y=y,
        y_pred=y_pred,
        sample_weight=sample_weight,
        training=training,
    )
