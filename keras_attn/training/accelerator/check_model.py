"""Whether the steps of a whole model fit a TPU or GPU."""

import dataclasses
import math

import keras
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.decoding.protocol import check_generative
from keras_attn.training.accelerator.check import AcceleratorCheck
from keras_attn.training.accelerator.check import accelerator_check
from keras_attn.training.accelerator.check import require
from keras_attn.training.accelerator.largest_batch import find_largest
from keras_attn.training.accelerator.largest_batch import rows_of
from keras_attn.training.accelerator.largest_batch import with_rows

STEPS = ("training", "prefill", "decode")


def accelerator_check_model(
    model: keras.Model,
    batch_spec,
    *,
    target: str = "v5e",
    step: str = "training",
    max_length: int | None = None,
    num_chips: int = 1,
    largest_batch: bool = False,
    timeout: float = 3600.0,
    verbose: int = 1,
) -> AcceleratorCheck:
    """Compile a step of a model for a chip, without the chip.

        accelerator_check_model(model, dataset.element_spec, target="a100")

    A training step is the `train_step` that `fit` runs: forward, loss,
    backward, optimizer and metrics. Weights and the optimizer's state count as
    arguments and are updated in place; an optimizer that has no state yet gets
    it.

    Args:
        model: A built model; a compiled one for a training step.
        batch_spec: What `fit` takes, as `tf.TensorSpec`s: inputs, or a tuple
            of inputs, labels and sample weights. Every dimension is known.
        target, timeout: As for `accelerator_check`.
        step: "training"; "prefill", what `model.encode` does with the inputs;
            or "decode", `model.step` on the state that it has made.
        max_length: How many tokens may follow the inputs; as many as the
            longest rows of ids in `batch_spec` have, if not given.
        num_chips: Of a host. Each has a batch and all weights of its own; to
            train, it adds sending 2 (n - 1) / n of the gradients.
        largest_batch: Whether to look for the most rows that fit, by a line
            through two sizes, which is then tried: up to four compilations.
        verbose: 0 is silent, 1 says what is compiled.

    Returns:
        An `AcceleratorCheck`, of the largest batch if that was asked for.
    """
    argument_checks.choice(step, "step", STEPS)
    argument_checks.integer(num_chips, "num_chips", at_least=1)
    require(target)
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} is not built, so it has no weights yet. "
            "Call it on a batch, or `build` it, first."
        )

    def compiled(rows):
        spec = batch_spec if rows == given else with_rows(batch_spec, rows)
        function, specs, donate = _step(step, model, spec, max_length)
        if verbose:
            print(
                f"Compiling the {step} step of {model.name} "
                f"({model.count_params():,} weights, {rows} rows) for {target}",
                flush=True,
            )
        return accelerator_check(
            function, *specs, donate=donate, target=target, timeout=timeout
        )

    given = rows_of(batch_spec)
    if largest_batch:
        check = find_largest(compiled, given)
    else:
        check = compiled(given)
    if step == "training" and num_chips > 1:
        trained = sum(math.prod(x.shape) for x in model.trainable_weights)
        sent = 2 * (num_chips - 1) * 4 * trained // num_chips  # float32
        check = dataclasses.replace(check, all_reduce_bytes=sent)
    return check


def _step(step, model, batch_spec, max_length):
    """A function, the specs of its arguments, and which it may overwrite."""
    if step == "training":
        return _training_step(model, batch_spec), [batch_spec], ()
    check_generative(model)
    if max_length is None:
        max_length = _longest(batch_spec)
    inputs, *_ = keras.utils.unpack_x_y_sample_weight(batch_spec)

    def encode(inputs):
        return model.encode(inputs, max_length)

    if step == "prefill":
        return encode, [inputs], ()
    return model.step, _decode_specs(encode, inputs), [1]


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


def _decode_specs(encode, inputs):
    """Of a token, of the state that `encode` makes, and of an index."""
    state = tf.nest.map_structure(
        lambda leaf: (
            leaf if leaf is None else tf.TensorSpec(leaf.shape, leaf.dtype)
        ),
        tf.function(encode).get_concrete_function(inputs).structured_outputs,
    )
    token = tf.TensorSpec((rows_of(inputs),), "int32")
    return [token, state, tf.TensorSpec((), "int32")]


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
