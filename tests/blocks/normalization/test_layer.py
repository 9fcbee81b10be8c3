import keras
import numpy as np

from keras_attn.blocks.normalization.layer import LayerNormalization


def test_it_has_the_weights_and_the_output_of_keras(rng):
    x = rng.normal(size=(2, 3, 7), loc=2.0).astype("float32")
    ours = LayerNormalization(epsilon=1e-3)
    theirs = keras.layers.LayerNormalization(epsilon=1e-3)
    for layer in (ours, theirs):
        layer.build(x.shape)
    assert [w.name for w in ours.weights] == [w.name for w in theirs.weights]
    weights = rng.normal(size=(2, 7))
    ours.set_weights(weights)
    theirs.set_weights(weights)
    np.testing.assert_allclose(ours(x), theirs(x), atol=1e-5)


def test_a_mask_goes_through():
    inputs = keras.layers.Masking()(np.ones((1, 2, 3), "float32"))
    output = LayerNormalization(epsilon=1e-3)(inputs)
    assert keras.src.backend.get_keras_mask(output) is not None


def test_mixed_precision_keeps_the_dtype_of_the_policy(rng):
    layer = LayerNormalization(epsilon=1e-3, dtype="mixed_bfloat16")
    assert layer(rng.normal(size=(2, 3))).dtype == "bfloat16"
