"""The network that tells real images from made ones."""

import keras
from keras import ops

from keras_attn.models.sagan import normalised_layers as normalised

_SMALLEST = 4


def make_discriminator(
    image_size: int,
    *,
    channels: int,
    num_classes: int | None,
    width: int,
    attention_resolutions=(),
    attention_form: str = "released",
    value_range=(0.0, 1.0),
    name: str = "discriminator",
    dtype=None,
) -> keras.Model:
    """Make a discriminator: residual blocks, each halving the grid.

        x = down(x W_3) + down(W_2 * relu(W_1 * relu(x)))    each block
        h = Σ relu(x)                                        over the grid
        score = w · h + b + V(class) · h

    Args:
        image_size, channels, num_classes, width, attention_resolutions,
            attention_form, value_range, name, dtype: As for the generator.

    Returns:
        A functional model from `{"image": (batch, height, width, channels)}`,
        with classes also `"class": (batch,)`, to (batch,) scores: the higher,
        the more real.

    Reference:
        Zhang et al. 2019, section 4. https://arxiv.org/abs/1805.08318; the
        term of the class, Miyato and Koyama 2018, equation 4.
        https://arxiv.org/abs/1802.05637
    """
    own = {"dtype": dtype}
    image = keras.Input((image_size, image_size, channels), name="image")
    inputs = {"image": image}

    def relu(x, name):
        return keras.layers.ReLU(name=name, **own)(x)

    def down(x, name):
        return keras.layers.AveragePooling2D(2, name=name, **own)(x)

    low, high = value_range
    # From -1 to 1.
    x = keras.layers.Rescaling(
        2 / (high - low), -(high + low) / (high - low), name="scaled", **own
    )(image)
    size = image_size
    while size > _SMALLEST:
        size //= 2
        block = f"block_{size}"
        made = width * normalised.growth(image_size, 2 * size)
        first = size == image_size // 2
        # Pixels are no activations: the first block takes them as they are.
        y = x if first else relu(x, f"{block}_relu_1")
        y = normalised.convolution(made, 3, f"{block}_1", dtype)(y)
        y = relu(y, f"{block}_relu_2")
        y = normalised.convolution(made, 3, f"{block}_2", dtype)(y)
        # The mean and a map of the channels can be done in any order.
        x = down(x, f"{block}_shortcut_down")
        x = normalised.convolution(made, 1, f"{block}_shortcut", dtype)(x)
        x = keras.layers.Add(name=block, **own)([x, down(y, f"{block}_down")])
        if size in attention_resolutions:
            x = normalised.attention(size, attention_form, dtype)(x)
    y = relu(x, "last_relu_1")
    y = normalised.convolution(made, 3, "last_1", dtype)(y)
    y = relu(y, "last_relu_2")
    y = normalised.convolution(made, 3, "last_2", dtype)(y)
    x = relu(keras.layers.Add(name="last", **own)([x, y]), "last_relu")
    x = ops.sum(x, axis=(1, 2))  # (batch, channels)
    score = normalised.dense(1, "score", dtype)(x)[:, 0]
    if num_classes is not None:
        inputs["class"] = keras.Input((), dtype="int32", name="class")
        vector = normalised.embedding(num_classes, made, "class_vector", dtype)
        score = score + ops.sum(x * vector(inputs["class"]), axis=-1)
    return keras.Model(inputs, score, name=name)
