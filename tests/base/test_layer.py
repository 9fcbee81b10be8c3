import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable("keras_attn")
class Halves(Layer):
    """Two outputs of other shapes than the input."""

    def build(self, inputs_shape, others_shape=None):
        self.scale = self.add_weight(shape=(inputs_shape[-1],), name="scale")

    def call(self, inputs, others=None):
        x = inputs * self.scale
        half = x.shape[-1] // 2
        first = x[..., :half]
        return {
            "first": first if others is None else first + ops.sum(others),
            "mean": ops.mean(x[..., half:], axis=1),
        }


def test_shapes_follow_from_the_call():
    layer = Halves()
    wanted = {"first": (2, 3, 3), "mean": (2, 3)}
    assert layer.compute_output_shape((2, 3, 6)) == wanted
    assert not layer.built and not layer.weights
    layer(np.ones((2, 3, 6)))
    assert layer.compute_output_shape((2, 3, 6)) == wanted
    assert layer.compute_output_shape((2, 3, 6), (2, 5)) == wanted
    assert layer.compute_output_shape((2, 3, 6), None) == wanted
    unknown = layer.compute_output_shape((None, None, 6))
    assert unknown == {"first": (None, None, 3), "mean": (None, 3)}


def test_ragged_tensors_are_refused_with_the_way_that_works():
    ragged = tf.RaggedTensor.from_tensor(tf.ones((2, 3, 6)), lengths=[3, 1])
    message = r"Halves.*RaggedTensor of shape \(2, None, 6\).*to_tensor.*mask"
    with pytest.raises(ValueError, match=message):
        Halves()(ragged)
    with pytest.raises(ValueError, match=message):
        Halves()(np.ones((2, 3, 6)), others=ragged)


def test_asking_for_a_shape_leaves_no_trace():
    layer = Halves()
    layer.build((2, 3, 6))
    layer.compute_output_shape((2, 3, 6))
    with pytest.raises(AttributeError, match="never been called"):
        _ = layer.input


def test_shapes_of_ids_are_asked_with_integers():
    @keras.saving.register_keras_serializable("keras_attn")
    class LookUp(Layer):
        symbolic_dtype = "int32"

        def build(self, ids_shape):
            self.table = self.add_weight(shape=(7, 4), name="table")

        def call(self, ids):
            return ops.take(self.table, ids, axis=0)

    assert LookUp().compute_output_shape((2, 3)) == (2, 3, 4)
