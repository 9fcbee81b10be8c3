"""The network that makes images of noise."""

import keras

from keras_attn.models.sagan import normalised_layers as normalised
from keras_attn.models.sagan.conditional_normalization import EPSILON
from keras_attn.models.sagan.conditional_normalization import (
    ConditionalNormalization,
)

_SMALLEST = 4

# Of moving means and variances. The released code takes 0.999 and 0.9999,
# which suits its million steps; what few steps leave of the start is noise.
_MOMENTUM = 0.99


def make_generator(
    image_size: int,
    *,
    channels: int,
    num_classes: int | None,
    noise_dim: int,
    width: int,
    attention_resolutions=(),
    attention_form: str = "released",
    value_range=(0.0, 1.0),
    name: str = "generator",
    dtype=None,
) -> keras.Model:
    """Make a generator: residual blocks, each doubling the grid.

        x = reshape(W noise + b)                     (batch, 4, 4, channels)
        x = up(x) W_3 + W_2 * relu(norm(W_1 * up(relu(norm(x)))))   each block
        image = tanh(W * relu(norm(x)))              from -1 to 1, then in range

    Args:
        image_size: Pixels each way: 4 · 2ⁿ.
        channels: Of images.
        num_classes: Classes, each with its own norms; None for one kind.
        noise_dim: Width of the noise.
        width: Channels of the finest grid.
        attention_resolutions: Sizes of the grids that attend to themselves.
        attention_form: As `form` of `SpatialSelfAttention`.
        value_range: The lowest and the highest value of a pixel.
        name: Of the network.
        dtype: Dtype or policy of its layers.

    Returns:
        A functional model from `{"noise": (batch, noise_dim)}`, with classes
        also `"class": (batch,)`, to (batch, height, width, channels).

    Reference:
        Zhang et al. 2019, section 4. https://arxiv.org/abs/1805.08318
    """
    own = {"dtype": dtype}
    inputs = {"noise": keras.Input((noise_dim,), name="noise")}
    classes = None
    if num_classes is not None:
        classes = keras.Input((), dtype="int32", name="class")
        inputs["class"] = classes

    def norm(x, name):
        if classes is None:
            x = _plain_norm(name, dtype)(x)
        else:
            x = ConditionalNormalization(
                num_classes, momentum=_MOMENTUM, name=name, **own
            )(x, classes)
        return keras.layers.ReLU(name=f"{name}_relu", **own)(x)

    def up(x, name):
        return keras.layers.UpSampling2D(name=name, **own)(x)

    size = _SMALLEST
    start = width * normalised.growth(image_size, 2 * size)
    x = normalised.dense(size * size * start, "start", dtype)(inputs["noise"])
    x = keras.layers.Reshape((size, size, start), name="grid", **own)(x)
    while size < image_size:
        size *= 2
        block = f"block_{size}"
        made = width * normalised.growth(image_size, size)
        y = up(norm(x, f"{block}_norm_1"), f"{block}_up")
        y = normalised.convolution(made, 3, f"{block}_1", dtype)(y)
        y = norm(y, f"{block}_norm_2")
        y = normalised.convolution(made, 3, f"{block}_2", dtype)(y)
        x = up(x, f"{block}_shortcut_up")
        x = normalised.convolution(made, 1, f"{block}_shortcut", dtype)(x)
        x = keras.layers.Add(name=block, **own)([x, y])
        if size in attention_resolutions:
            x = normalised.attention(size, attention_form, dtype)(x)
    x = _plain_norm("last_norm", dtype)(x)
    x = keras.layers.ReLU(name="last_relu", **own)(x)
    x = normalised.convolution(channels, 3, "pixels", dtype)(x)
    x = keras.layers.Activation("tanh", name="tanh", **own)(x)
    low, high = value_range
    x = keras.layers.Rescaling(
        (high - low) / 2, (high + low) / 2, name="image", **own
    )(x)
    return keras.Model(inputs, x, name=name)


def _plain_norm(name, dtype):
    return keras.layers.BatchNormalization(
        momentum=_MOMENTUM, epsilon=EPSILON, name=name, dtype=dtype
    )
