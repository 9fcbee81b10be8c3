import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.wrappers.spectral_normalization import SpectralNormalization
from tests.contract import check_layer
from tests.contract import check_mask_goes_on

SIZES = {"float32": 1e-5, "float64": 1e-12}


@pytest.fixture
def images(rng):
    return rng.normal(size=(2, 4, 5, 3)).astype("float32")


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: keras.layers.Dense(6), (2, 4, 5, 6)),
        (lambda: keras.layers.Conv2D(7, 3, padding="same"), (2, 4, 5, 7)),
        (
            lambda: keras.layers.EinsumDense(
                "bhwc,cuv->bhwuv", (None, None, 2, 4)
            ),
            (2, 4, 5, 2, 4),
        ),
    ],
    ids=["dense", "convolution", "einsum"],
)
def test_contract(layer, shape, images, tmp_path):
    check_layer(
        SpectralNormalization,
        {"layer": layer(), "power_iterations": 2},
        {"inputs": images},
        output_shape=shape,
        tmp_path=tmp_path,
        padded=(),  # what it wraps may look at other positions, it does not
    )


def test_contract_of_embeddings(tmp_path):
    check_layer(
        SpectralNormalization,
        {"layer": keras.layers.Embedding(7, 4)},
        {"inputs": np.array([[1, 2, 3], [4, 5, 6]])},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=(),
    )


def iterated(kernel, u, times=1):
    """Algorithm 1 of the paper in float64: u, v and σ."""
    matrix = np.float64(kernel).reshape(-1, kernel.shape[-1])
    for _ in range(times):
        v = matrix @ u / np.linalg.norm(matrix @ u)
        u = matrix.T @ v / np.linalg.norm(matrix.T @ v)
    return u, v, v @ matrix @ u


def convolved(x, kernel):
    """A convolution over what lies wholly inside, in float64."""
    height, width = kernel.shape[:2]
    rows, columns = x.shape[1] - height + 1, x.shape[2] - width + 1
    return sum(
        np.einsum(
            "bhwc,cd->bhwd", x[:, i : i + rows, j : j + columns], kernel[i, j]
        )
        for i in range(height)
        for j in range(width)
    )


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("power_iterations", [1, 3])
def test_matches_the_equation(dtype, power_iterations, images, rng):
    layer = keras.layers.Conv2D(6, (2, 3), dtype=dtype)
    wrapped = SpectralNormalization(layer, power_iterations=power_iterations)
    wrapped.build(images.shape)
    kernel = rng.normal(size=layer.kernel.shape).astype(dtype)
    layer.set_weights([kernel, np.arange(6.0)])
    u, _, sigma = iterated(kernel, np.array(wrapped.u), power_iterations)

    output = wrapped(images.astype(dtype), training=True)
    expected = convolved(np.float64(images), kernel / sigma) + np.arange(6.0)
    size = SIZES[dtype]
    np.testing.assert_allclose(output, expected, rtol=size, atol=10 * size)
    np.testing.assert_allclose(wrapped.u, u, rtol=size, atol=size)
    np.testing.assert_array_equal(layer.kernel, kernel)


def test_the_gradient_goes_through_the_norm(rng):
    """Equation 12: (G - (G : W̄) u vᵀ) / σ, with G the gradient of W̄."""
    layer = keras.layers.Dense(4, use_bias=False, dtype="float64")
    wrapped = SpectralNormalization(layer)
    x, upstream = rng.normal(size=(3, 5)), rng.normal(size=(3, 4))
    wrapped.build(x.shape)
    kernel = np.array(layer.kernel)
    u, v, sigma = iterated(kernel, np.array(wrapped.u))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(wrapped(x, training=True) * upstream)
    gradient = tape.gradient(loss, layer.kernel.value)

    whole = x.T @ upstream
    along = np.sum(whole * kernel / sigma)
    expected = (whole - along * np.outer(v, u)) / sigma
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)

    def loss_of(changed):
        return np.sum(x @ (changed / (v @ changed @ u)) * upstream)

    step = 1e-6
    for place in np.ndindex(kernel.shape):
        change = np.zeros_like(kernel)
        change[place] = step
        slope = loss_of(kernel + change) - loss_of(kernel - change)
        np.testing.assert_allclose(
            gradient[place], slope / (2 * step), rtol=1e-6, atol=1e-8
        )


def test_training_finds_the_largest_singular_value(images):
    wrapped = SpectralNormalization(keras.layers.Dense(6, use_bias=False))
    for _ in range(100):
        wrapped(images, training=True)
    (kernel,) = wrapped.layer.get_weights()
    largest = np.linalg.svd(kernel, compute_uv=False)[0]
    np.testing.assert_allclose(
        wrapped(images), images @ kernel / largest, rtol=1e-4, atol=1e-5
    )


def test_only_training_improves_the_estimate(images):
    wrapped = SpectralNormalization(keras.layers.Dense(6))
    first = wrapped(images)
    u = np.array(wrapped.u)
    kernel = np.array(wrapped.layer.kernel)
    sigma = np.linalg.norm(kernel @ u) / np.linalg.norm(u)
    np.testing.assert_allclose(
        first, images @ kernel / sigma, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(wrapped(images), first)
    np.testing.assert_array_equal(wrapped.u, u)
    wrapped(images, training=True)
    assert np.abs(np.array(wrapped.u) - u).max() > 1e-3


def test_a_length_of_w_makes_no_difference(images):
    wrapped = SpectralNormalization(keras.layers.Dense(6, use_bias=False))
    first = wrapped(images)
    wrapped.layer.kernel.assign(wrapped.layer.kernel * 100)
    np.testing.assert_allclose(wrapped(images), first, rtol=1e-4, atol=1e-5)


def test_a_kernel_of_zeros_gives_zeros_and_a_finite_gradient(images):
    layer = keras.layers.Dense(6, kernel_initializer="zeros")
    wrapped = SpectralNormalization(layer)
    with tf.GradientTape() as tape:
        output = wrapped(images, training=True)
    assert not np.any(output)
    gradient = tape.gradient(output, layer.kernel.value)
    expected = images.reshape(-1, 3).sum(axis=0)[:, None].repeat(6, axis=1)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4)
    assert np.all(wrapped.u)  # so that it can learn from the next


def test_training_changes_what_is_stored_and_keeps_the_rest():
    """In `fit`, also with XLA; seeds of the layer go on."""
    x, y = np.ones((8, 3), "float32"), np.zeros((8, 2), "float32")
    wrapped = SpectralNormalization(keras.layers.Dense(2))
    model = keras.Sequential([keras.Input((3,)), wrapped])
    model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=True)
    kernel, u = np.array(wrapped.layer.kernel), np.array(wrapped.u)
    model.fit(x, y, epochs=2, verbose=0)
    assert np.abs(np.array(wrapped.layer.kernel) - kernel).max() > 1e-4
    assert np.abs(np.array(wrapped.u) - u).max() > 1e-4


def test_a_stateless_call_leaves_everything_as_it_was(images):
    """Also with other values than those of the variables."""
    wrapped = SpectralNormalization(keras.layers.Dense(6))
    wrapped.build(images.shape)
    kernel, bias = (np.array(x) for x in wrapped.trainable_variables)
    u = np.array(wrapped.u)
    output, (new,) = wrapped.stateless_call(
        [kernel, bias + 1], [u], images, training=True
    )
    u_wanted, _, sigma = iterated(kernel, u)
    np.testing.assert_allclose(new, u_wanted, rtol=1e-4)
    np.testing.assert_allclose(
        output, images @ (kernel / sigma) + 1, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(wrapped.u, u)
    np.testing.assert_array_equal(wrapped.layer.bias, bias)


def test_masks_of_embeddings_go_on(images):
    embedding = keras.layers.Embedding(5, 3, mask_zero=True)
    output = SpectralNormalization(embedding)(np.array([[1, 2, 0]]))
    np.testing.assert_array_equal(output._keras_mask, [[True, True, False]])
    dense = SpectralNormalization(keras.layers.Dense(6))
    check_mask_goes_on(dense, images[0])


def test_it_computes_as_its_layer_does(images):
    layer = keras.layers.Dense(6, dtype="mixed_bfloat16")
    wrapped = SpectralNormalization(layer)
    assert wrapped(images).dtype == "bfloat16"
    assert {x.dtype for x in wrapped.variables} == {"float32"}
    assert wrapped.count_params() == 3 * 6 + 6 + 6


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (lambda: keras.layers.ReLU(), "one weight to normalise"),
        (lambda: keras.layers.SeparableConv2D(4, 3), "Wrap the layers inside"),
        (lambda: "dense", "`layer` must be a layer"),
    ],
)
def test_refuses_what_it_cannot_normalise(layer, message, images):
    with pytest.raises(ValueError, match=message):
        SpectralNormalization(layer())(images)


def test_refuses_wrong_settings():
    with pytest.raises(ValueError, match="`power_iterations` must be"):
        SpectralNormalization(keras.layers.Dense(2), power_iterations=0)


def test_refuses_other_quantised_layers(images):
    wrapped = SpectralNormalization(
        keras.layers.EinsumDense("bhwc,cd->bhwd", (None, None, 2))
    )
    wrapped(images)
    wrapped.layer.quantize("int8")
    with pytest.raises(ValueError, match="takes Dense in int8"):
        wrapped(images)
