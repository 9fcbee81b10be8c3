"""A small convolutional network, for pictures that need no large one."""

import keras

WIDTHS = (32, 64, 128)


def small_cnn(
    image_shape: tuple[int, int, int], *, name: str = "encoder", dtype=None
):
    """Make a network from images to a grid of features.

        x = max_pool(relu(batch_norm(W * x)))    three times

    Args:
        image_shape: Height, width and channels, at least 8 pixels each way.
        name: Of the network.
        dtype: Dtype or policy of its layers.

    Returns:
        A functional `keras.Model`, (batch, height, width, channels) to
        (batch, height / 8, width / 8, 128).

    Raises:
        ValueError: If that is no shape of an image, or of too small a one.
    """
    shape = tuple(image_shape)
    stride = 2 ** len(WIDTHS)
    if len(shape) != 3 or min(shape[:2]) < stride or shape[2] < 1:
        raise ValueError(
            "`image_shape` is the height, the width and the channels of an "
            f"image, at least {stride} pixels each way. Received: "
            f"image_shape={shape}"
        )
    image = x = keras.Input(shape, name="image")
    for number, width in enumerate(WIDTHS):
        # The norm has a bias.
        x = keras.layers.Conv2D(
            width,
            3,
            padding="same",
            use_bias=False,
            name=f"convolution_{number}",
            dtype=dtype,
        )(x)
        x = keras.layers.BatchNormalization(name=f"norm_{number}", dtype=dtype)(
            x
        )
        x = keras.layers.ReLU(name=f"relu_{number}", dtype=dtype)(x)
        x = keras.layers.MaxPooling2D(name=f"pool_{number}", dtype=dtype)(x)
    return keras.Model(image, x, name=name)
