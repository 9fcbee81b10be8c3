import keras
import numpy as np
import pytest

from keras_attn.models import BERT
from keras_attn.training.optimizers.adamw import AdamW
from keras_attn.training.optimizers.layer_rates import layer_rates


def bert():
    return BERT(
        11,
        num_layers=2,
        num_heads=2,
        units=6,
        hidden_dim=5,
        max_length=7,
        head="classification",
        num_classes=3,
    )


def of(layer, rates):
    """The factors of all weights of a layer."""
    return {rates.get(weight.path, 1.0) for weight in layer.trainable_weights}


def test_factors_shrink_from_the_head_to_the_embedding():
    model = bert()
    blocks = model.encoder.blocks
    lowest = [model.embedding, model.segment_embedding, model.encoder]
    rates = layer_rates([lowest, *blocks], 0.5)
    assert of(model.embedding, rates) == {0.125}
    assert of(model.segment_embedding, rates) == {0.125}
    assert of(blocks[0], rates) == {0.25}
    assert of(blocks[1], rates) == {0.5}
    assert of(model.pooler, rates) == {1.0}


def test_a_step_of_fit_is_shorter_in_lower_layers():
    keras.utils.set_random_seed(0)
    model = bert()
    blocks = model.encoder.blocks
    model.compile(
        # Adam's first step is as long as the rate.
        AdamW(
            1e-3,
            weight_decay=0.0,
            epsilon=1e-12,
            rates=layer_rates([model.embedding, *blocks], 0.5),
        ),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    tokens = np.array([[1, 2, 3], [4, 5, 0]])
    inputs = {"tokens": tokens, "segments": np.zeros_like(tokens)}
    kernels = [block.feed_forward.weights[0] for block in blocks]
    before = [np.array(kernel) for kernel in kernels]
    model.fit(inputs, np.array([0, 2]), verbose=0)
    moved = [
        np.median(np.abs(np.array(kernel) - old))
        for kernel, old in zip(kernels, before, strict=True)
    ]
    np.testing.assert_allclose(moved, [2.5e-4, 5e-4], rtol=0.02)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="`decay`"):
        layer_rates([], 1.5)
    with pytest.raises(ValueError, match="'later' is not built"):
        layer_rates([keras.layers.Dense(2, name="later")], 0.5)
