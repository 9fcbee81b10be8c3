"""Any functional model, as a servable of numbers in and numbers out."""

import keras
import numpy as np
import tensorflow as tf

from keras_attn.export.graph import model_io
from keras_attn.export.graph.invalid_rows import blank_invalid
from keras_attn.export.graph.padded_batches import compiled
from keras_attn.export.graph.signature import Signature
from keras_attn.export.tasks.task import Task

# An example has as many of what a model takes any number of.
_OPEN_AXIS = 2


class FunctionalPrediction(Task):
    """What a functional model says of its inputs.

        outputs = model(inputs)

    The verb is `predict`, with the model's own names: keys of dictionaries,
    and else the names of `Input`s and of the layers that outputs come from.
    Half precision is taken and given as float32, which every client has, and
    strings are given as UTF-8 unless their output is named `*_bytes`. Where
    an embedding takes an input directly, answers have `valid`, (batch,)
    booleans: a row with an id that is not there is False, and empty. A layer
    that looks up words without a place for unknown ones (num_oov_indices=0)
    fails the whole batch of an unknown word, as it does in Keras.

    Args:
        model: A functional `keras.Model`, or a `Sequential` with an `Input`.
        xla: Whether `predict` has an XLA signature beside it. XLA compiles for
            every length that it meets, so lengths should be few.
    """

    def __init__(self, model: keras.Model, *, xla: bool = False):
        _check(model)
        super().__init__(model)
        self.xla = xla

    @staticmethod
    def accepts(model) -> bool:
        """Whether this is the task of a model."""
        return model_io.is_functional(model)

    def signatures(self):
        inputs = {
            name: tf.TensorSpec(
                (None, *tensor.shape[1:]), _wire_dtype(tensor.dtype), name
            )
            for name, tensor in model_io.inputs(self.model).items()
        }
        known = model_io.vocabularies(self.model)
        examples = tuple(
            {
                name: _example(spec, rows, known.get(name))
                for name, spec in inputs.items()
            }
            for rows in (1, 3)
        )
        signatures = [Signature("predict", self.predict, inputs, examples)]
        if self.xla:
            run = compiled(self._predict_in_order)
            signatures.append(
                Signature(
                    "predict_xla",
                    lambda **tensors: run(*(tensors[k] for k in inputs)),
                    inputs,
                    examples,
                    compiled=True,
                )
            )
        return signatures

    def predict(self, **inputs) -> dict:
        """What the model says of (batch, ...) tensors, all by name."""
        valid = []
        for name, size in model_io.vocabulary_sizes(self.model).items():
            ids = tf.convert_to_tensor(inputs[name])
            known = (ids >= 0) & (ids < size)
            inputs[name] = tf.where(known, ids, 0)
            axes = list(range(1, ids.shape.rank))
            valid.append(tf.reduce_all(known, axis=axes))
        outputs = {
            name: tf.cast(output, _wire_dtype(output.dtype))
            for name, output in model_io.call(self.model, inputs).items()
        }
        if not valid:
            return outputs
        return blank_invalid(outputs, tf.reduce_all(valid, axis=0))

    def _predict_in_order(self, *tensors):
        names = model_io.inputs(self.model)
        return self.predict(**dict(zip(names, tensors, strict=True)))


def _check(model):
    if not model_io.is_functional(model):
        raise ValueError(
            f"{type(model).__name__} {model.name!r} does not say what it "
            "takes. Make it a functional model, keras.Model(inputs, outputs), "
            "or open a Sequential with keras.Input."
        )
    for name, tensor in model_io.inputs(model).items():
        if tensor.sparse or not tensor.shape:
            raise ValueError(
                f"The input {name!r} must be dense, with the batch as its "
                f"first axis. Received: {tensor}"
            )
    for name, tensor in model_io.outputs(model).items():
        if not tensor.shape or tensor.shape[0] is not None:
            raise ValueError(
                f"The output {name!r} must have the batch as its first axis, "
                "because a server puts requests together and takes answers "
                f"apart. Received: {tuple(tensor.shape)}"
            )
    if "valid" in model_io.outputs(model) and model_io.vocabulary_sizes(model):
        raise ValueError(
            "The output 'valid' must have another name: it says whether the "
            "ids of a row are in the vocabulary."
        )


def _wire_dtype(dtype):
    dtype = tf.as_dtype(dtype)
    return tf.float32 if dtype.is_floating and dtype.size < 4 else dtype


def _example(spec, rows, known=None):
    shape = (rows, *(size or _OPEN_AXIS for size in spec.shape[1:]))
    numbers = np.arange(np.prod(shape)).reshape(shape)
    if known is not None:
        return known[numbers % len(known)]
    if spec.dtype == tf.string:
        return np.full(shape, b"example", object)
    if spec.dtype.is_floating:
        return (numbers / numbers.size).astype(spec.dtype.as_numpy_dtype)
    # Every vocabulary has the ids 0 and 1.
    return (numbers % 2).astype(spec.dtype.as_numpy_dtype)
