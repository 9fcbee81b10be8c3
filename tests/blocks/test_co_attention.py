import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks.co_attention import CoAttentionBlock
from tests.blocks import equations
from tests.contract import check_layer

FIRST_MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], "bool")
SECOND_MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]], "bool")
MASKS = {"first_mask": FIRST_MASK, "second_mask": SECOND_MASK}


@pytest.fixture
def inputs(rng):
    return {
        "first": rng.normal(size=(2, 4, 6)).astype("float32"),
        "second": rng.normal(size=(2, 5, 8)).astype("float32"),
    }


def made(rng, inputs, **options):
    block = CoAttentionBlock(2, 7, **options)
    block.build(*(x.shape for x in inputs.values()))
    equations.randomise(block, rng)
    return block


@pytest.mark.parametrize(
    "init",
    [
        {"num_heads": 2, "hidden_dim": 7},
        pytest.param(
            {
                "num_heads": 2,
                "hidden_dim": 7,
                "second_hidden_dim": 9,
                "norm": "pre",
                "normalization": "rms",
                "epsilon": 1e-4,
                "activation": "swiglu",
                "use_bias": False,
                "dropout": {"attention": 0.1, "output": 0.2},
                "attention": {"key_dim": 4, "implementation": "dense"},
                "layer_scale": 0.1,
                "stochastic_depth": 0.1,
                "kernel_initializer": "he_normal",
            },
            marks=pytest.mark.slow,
        ),
    ],
    ids=["post", "pre_with_all_arguments"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        CoAttentionBlock,
        init,
        inputs,
        output_shape=(2, 4, 6),
        tmp_path=tmp_path,
        padded=["first", "second"],
        # What all keys share cancels in the softmax.
        powerless=["key/bias"],
    )


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("normalization", ["layer", "batch"])
def test_matches_the_equation(norm, normalization, inputs, rng):
    block = made(
        rng,
        inputs,
        second_hidden_dim=9,
        attention={"key_dim": 5},
        activation="gelu",
        norm=norm,
        normalization=normalization,
    )
    kind = {"norm": norm, "normalization": normalization}
    x, y = (np.float64(each) for each in inputs.values())

    def stream(name, x, y, mask):
        """One stream of figure 2b, and what it looked at."""
        part = {p: getattr(block, f"{name}_{p}") for p in PARTS}
        seen = []

        def attend(query):
            value = y
            if norm == "pre":
                other = {"first": "second", "second": "first"}[name]
                around = getattr(block, f"{other}_attention_residual")
                value = equations.normalize(around.normalize, y, normalization)
            attention = getattr(block.co_attention, f"{name}_attention")
            output, weights = equations.attend(attention, query, value, mask)
            seen.append(weights)
            return output

        z = equations.residual(part["attention_residual"], x, attend, **kind)
        output = equations.residual(
            part["feed_residual"],
            z,
            lambda z: equations.feed_forward(part["feed_forward"], z, "gelu"),
            **kind,
        )
        return output, *seen

    outputs = block(**inputs, **MASKS)
    seen = block(**inputs, **MASKS, return_attention_scores=True)
    sides = (
        ("first", x, y, SECOND_MASK, FIRST_MASK),
        ("second", y, x, FIRST_MASK, SECOND_MASK),
    )
    for number, (*side, real) in enumerate(sides):
        expected, weights = stream(*side)
        for output in (outputs[number], seen[number]):
            np.testing.assert_allclose(
                output[real], expected[real], rtol=1e-4, atol=1e-4
            )
        heads = np.broadcast_to(real[:, None], (2, 2, real.shape[1]))
        np.testing.assert_allclose(
            seen[2 + number][heads], weights[heads], atol=1e-5
        )


PARTS = ("attention_residual", "feed_forward", "feed_residual")


def test_each_output_carries_the_mask_of_its_stream(inputs, rng):
    block = made(rng, inputs)
    tensors = [tf.constant(x) for x in inputs.values()]
    for tensor, mask in zip(tensors, MASKS.values(), strict=True):
        tensor._keras_mask = tf.constant(mask)
    outputs = block(*tensors)
    for output, mask in zip(outputs, MASKS.values(), strict=True):
        np.testing.assert_array_equal(output._keras_mask, mask)


def test_padding_leaks_through_no_stack():
    words, pixels = (keras.Input((None,), dtype="int32") for _ in range(2))
    x = keras.layers.Embedding(9, 6, mask_zero=True)(words)
    y = keras.layers.Embedding(9, 8, mask_zero=True)(pixels)
    for _ in range(2):
        x, y = CoAttentionBlock(2, 7)(x, y)
    model = keras.Model([words, pixels], [x, y])
    sentence, image = np.array([[4, 2, 8]]), np.array([[1, 7]])
    expected = model([sentence, image])
    padded = model(
        [
            np.pad(sentence, [(0, 0), (0, 2)]),
            np.pad(image, [(0, 0), (0, 5)]),
        ]
    )
    for one, two in zip(padded, expected, strict=True):
        np.testing.assert_allclose(one[:, : two.shape[1]], two, atol=1e-5)


def test_dropout_waits_for_training(inputs):
    block = CoAttentionBlock(2, 7, dropout=0.5)
    first = block(**inputs)[0]
    np.testing.assert_array_equal(first, block(**inputs)[0])
    dropped = block(**inputs, training=True)
    for output, sure in zip(dropped, block(**inputs), strict=True):
        assert np.abs(output - sure).max() > 1e-3


def test_has_the_parameters_of_the_released_block():
    """Of 16,013,568 it declares, those that an output uses."""
    block = CoAttentionBlock(
        8, 3072, second_hidden_dim=1024, attention={"key_dim": 128}
    )
    block.build((None, None, 768), (None, None, 1024))
    assert block.count_params() == 14_176_768


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"num_heads": 4}, "num_heads=4, features=6.*key_dim"),
        ({"num_heads": 2, "second_hidden_dim": 0}, "`second_hidden_dim` must"),
        ({"num_heads": 2, "norm": "sandwich"}, "`norm` must be one of"),
    ],
)
def test_refuses_sizes_that_do_not_fit(init, message, inputs):
    with pytest.raises(ValueError, match=message):
        CoAttentionBlock(**init, hidden_dim=7)(**inputs)
