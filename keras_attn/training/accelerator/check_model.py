"""Whether the steps of a whole model fit a TPU or GPU."""

import keras
import tensorflow as tf

from keras_attn.decoding.protocol import check_generative
from keras_attn.training.accelerator.check import AcceleratorCheck
from keras_attn.training.accelerator.check import accelerator_check
from keras_attn.training.accelerator.check import require


def accelerator_check_model(
    model: keras.Model,
    batch_spec,
    *,
    target: str = "v5e",
    decode: bool = False,
    max_length: int | None = None,
    timeout: float = 3600.0,
    verbose: int = 1,
) -> AcceleratorCheck:
    """Compile a model's training step for a chip, without the chip.

        accelerator_check_model(model, dataset.element_spec, target="a100")

    It is the `train_step` that `fit` runs: forward, loss, backward, optimizer
    and metrics. Weights and the optimizer's state count as arguments and are
    updated in place; an optimizer that has no state yet gets it.

    Args:
        model: A built model; a compiled one unless `decode`.
        batch_spec: What `fit` takes, as `tf.TensorSpec`s: inputs, or a tuple
            of inputs, labels and sample weights. Every dimension is known.
        target, timeout: As for `accelerator_check`.
        decode: Whether to compile a step of decoding instead: `model.step`,
            on the state that `model.encode` makes of the inputs.
        max_length: How many tokens may follow them; as many as the longest
            rows of ids in `batch_spec` have, if not given.
        verbose: 0 is silent, 1 says what is compiled.

    Returns:
        An `AcceleratorCheck`.
    """
    require(target)
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} is not built, so it has no weights yet. "
            "Call it on a batch, or `build` it, first."
        )
    if decode:
        step, specs, donate = _decode_step(model, batch_spec, max_length)
    else:
        step, specs, donate = (
            _training_step(model, batch_spec),
            [batch_spec],
            (),
        )
    if verbose:
        print(
            f"Compiling the {'decode' if decode else 'training'} step of "
            f"{model.name} ({model.count_params():,} weights) for {target}",
            flush=True,
        )
    return accelerator_check(
        step, *specs, donate=donate, target=target, timeout=timeout
    )


def _training_step(model, batch_spec):
    if not model.compiled:
        raise ValueError(
            f"The model {model.name!r} is not compiled. Call "
            "`model.compile(optimizer=…, loss=…)` first."
        )
    # As `fit` does: a strategy's step knows its losses before it is traced.
    model._maybe_symbolic_build(data_batch=batch_spec)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    # As `fit` does: its own steps need no conversion.
    return tf.autograph.experimental.do_not_convert(model.train_step)


def _decode_step(model, batch_spec, max_length):
    """`model.step`, the specs of its arguments, and which it may overwrite."""
    check_generative(model)
    if max_length is None:
        max_length = _longest(batch_spec)
    inputs, *_ = keras.utils.unpack_x_y_sample_weight(batch_spec)
    encode = tf.function(lambda inputs: model.encode(inputs, max_length))
    state = tf.nest.map_structure(
        lambda leaf: (
            leaf if leaf is None else tf.TensorSpec(leaf.shape, leaf.dtype)
        ),
        encode.get_concrete_function(inputs).structured_outputs,
    )
    rows = tf.nest.flatten(inputs)[0].shape[0]
    token, index = tf.TensorSpec((rows,), "int32"), tf.TensorSpec((), "int32")
    return model.step, [token, state, index], [1]


def _longest(batch_spec):
    lengths = [
        spec.shape[1]
        for spec in tf.nest.flatten(batch_spec)
        if spec is not None and spec.shape.rank == 2
    ]
    if not lengths:
        raise ValueError(
            "`batch_spec` has no rows of ids to tell how many tokens to "
            "decode. Give `max_length`."
        )
    return max(lengths)
