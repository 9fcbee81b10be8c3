import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.spatial import SpatialSelfAttention
from tests import oracle
from tests.contract import check_layer

MAPS = ("query", "key", "value", "output")

# A grid of 128 × 128 with 64 channels, forward and backward: prints the most
# memory that the process has held, in kilobytes, 800,000 of it before the step.
# The scores of pooled keys alone would be 270,000, those of all 1,100,000, and
# there are their softmax and its gradient.
STEP = """
import pathlib, re, sys
import tensorflow as tf
from keras_attn.layers import SpatialSelfAttention

layer = SpatialSelfAttention(form=sys.argv[1], gamma_initializer="ones")
layer.build((1, 128, 128, 64))
weights = [weight.value for weight in layer.trainable_weights]


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x) ** 2)
    return tape.gradient(loss, [x, *weights])


for gradient in step(tf.random.normal((1, 128, 128, 64))):
    assert bool(tf.reduce_all(tf.math.is_finite(gradient)))
    assert bool(tf.reduce_any(gradient != 0))
# Not getrusage's peak, which counts the process that this one was forked from.
status = pathlib.Path("/proc/self/status").read_text()
print(re.search("VmHWM:[^0-9]*([0-9]+) kB", status)[1])
"""


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 4, 6, 16)).astype("float32")


@pytest.mark.parametrize(
    "init",
    [
        {"gamma_initializer": "ones"},
        {"form": "paper", "gamma_initializer": "ones"},
        {"spectral_normalization": True, "gamma_initializer": "ones"},
        {},
    ],
    ids=["released", "paper", "normalised", "as_it_starts"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        SpatialSelfAttention,
        init,
        {"inputs": inputs},
        output_shape=(2, 4, 6, 16),
        tmp_path=tmp_path,
        padded=(),  # a grid has none
        powerless=() if init else [f"{name}/kernel" for name in MAPS],
    )


def randomized(inputs, rng, **options):
    layer = SpatialSelfAttention(**options)
    layer.build(inputs.shape)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


def kernels_of(layer):
    """The maps of a layer and γ, in float64."""
    maps = [getattr(layer, f"{name}_dense") for name in MAPS]
    return [np.float64(x.kernel) for x in maps], np.float64(layer.gamma)


def largest(x):
    """The largest of each 2 × 2 positions; an odd end has fewer."""
    rows, columns = (range(0, size, 2) for size in x.shape[1:3])
    return np.stack(
        [
            np.stack(
                [x[:, i : i + 2, j : j + 2].max(axis=(1, 2)) for j in columns],
                axis=1,
            )
            for i in rows
        ],
        axis=1,
    )


def attended(x, kernels, gamma, form):
    """Equations 1 to 3 of the paper in float64, and the weights."""
    f, g, h = (x @ kernel for kernel in kernels[:3])
    if form == "released":
        g, h = largest(g), largest(h)
    scores = np.einsum("bijd,bkld->bijkl", f, g)
    scores -= scores.max(axis=(3, 4), keepdims=True)
    weights = np.exp(scores)
    weights /= weights.sum(axis=(3, 4), keepdims=True)
    seen = np.einsum("bijkl,bkld->bijd", weights, h)
    return gamma * (seen @ kernels[3]) + x, weights


@pytest.mark.parametrize("form", ["released", "paper"])
@pytest.mark.parametrize("implementation", ["dense", "tiled"])
@pytest.mark.parametrize("size", [(4, 6), (5, 3), (1, 1)], ids=str)
def test_matches_the_equation(form, implementation, size, rng):
    inputs = rng.normal(size=(2, *size, 17))  # 17 / 8 is rounded down
    layer = randomized(
        inputs,
        rng,
        form=form,
        implementation=implementation,
        dtype="float64",
    )
    expected, weights = attended(inputs, *kernels_of(layer), form)
    # Scores are in float32 whatever comes.
    np.testing.assert_allclose(layer(inputs), expected, rtol=1e-4, atol=1e-4)
    if implementation == "dense":
        output, given = layer(inputs, return_attention_scores=True)
        np.testing.assert_allclose(output, layer(inputs))
        np.testing.assert_allclose(given, weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", ["released", "paper"])
@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_gradients_match_differences(form, implementation, rng):
    inputs = rng.normal(size=(1, 4, 2, 8)) / 4
    layer = randomized(inputs, rng, form=form, implementation=implementation)
    upstream = rng.normal(size=inputs.shape)
    maps = [getattr(layer, f"{name}_dense") for name in MAPS]
    x = tf.constant(inputs, "float32")
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x) * tf.cast(upstream, "float32"))
    gradients = tape.gradient(
        loss, [x, *(each.kernel.value for each in maps), layer.gamma.value]
    )
    kernels, gamma = kernels_of(layer)
    places = [inputs, *kernels, gamma]

    def loss_of(values):
        x, *kernels, gamma = values
        return np.sum(attended(x, kernels, gamma, form)[0] * upstream)

    for number, gradient in enumerate(gradients):
        expected = np.zeros(np.shape(places[number]))
        for place in np.ndindex(expected.shape):
            change = np.zeros_like(expected)
            change[place] = oracle.STEP
            expected[place] = sum(
                sign
                * loss_of(
                    [
                        value + sign * change if i == number else value
                        for i, value in enumerate(places)
                    ]
                )
                for sign in (1, -1)
            ) / (2 * oracle.STEP)
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-3)


def test_spectral_normalization_is_that_of_the_maps(inputs, rng):
    layer = randomized(inputs, rng, spectral_normalization=True)
    step = tf.function(lambda: layer(inputs, training=True))
    for _ in range(200):
        step()
    kernels = [
        np.float64(getattr(layer, f"{name}_dense").layer.kernel)
        for name in MAPS
    ]
    kernels = [x / np.linalg.svd(x, compute_uv=False)[0] for x in kernels]
    gamma = np.float64(layer.gamma)
    expected, _ = attended(np.float64(inputs), kernels, gamma, "released")
    np.testing.assert_allclose(layer(inputs), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("form", "count"), [("released", 81_921), ("paper", 32_769)]
)
@pytest.mark.parametrize("spectral_normalization", [False, True])
def test_parameters_are_those_of_the_paper(form, count, spectral_normalization):
    layer = SpatialSelfAttention(
        form=form, spectral_normalization=spectral_normalization
    )
    layer.build((None, 32, 32, 256))
    trained = sum(np.prod(w.shape, dtype=int) for w in layer.trainable_weights)
    assert trained == count


def test_it_starts_as_the_identity_and_leaves_it(inputs):
    layer = SpatialSelfAttention()
    np.testing.assert_array_equal(layer(inputs), inputs)
    model = keras.Sequential([keras.Input(inputs.shape[1:]), layer])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(inputs, 2 * inputs, epochs=2, verbose=0)
    assert layer.gamma.numpy() != 0


@pytest.mark.slow
@pytest.mark.parametrize("form", ["released", "paper"])
def test_a_large_grid_fits_in_memory(form):
    done = subprocess.run(
        [sys.executable, "-c", STEP, form], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1_300_000  # asked for are 2 GB


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 4, 16), r"must be \(batch, height, width, channels\)"),
        ((2, 4, 4, 7), r"8 channels at least.*\(2, 4, 4, 7\)"),
    ],
)
def test_refuses_other_shapes(shape, message):
    with pytest.raises(ValueError, match=message):
        SpatialSelfAttention()(np.zeros(shape, "float32"))


def test_refuses_other_forms():
    with pytest.raises(ValueError, match="`form` must be one of"):
        SpatialSelfAttention(form="written")
    with pytest.raises(ValueError, match="`implementation` must be one of"):
        SpatialSelfAttention(implementation="quick")(np.zeros((1, 2, 2, 8)))


def test_weights_need_the_matrix(inputs):
    layer = SpatialSelfAttention(implementation="tiled")
    with pytest.raises(ValueError, match="Use 'dense' or 'auto'"):
        layer(inputs, return_attention_scores=True)
