"""The grid of features that a hybrid cuts its patches from."""


def through_stem(stem, image):
    """Let a convolutional network make a grid of features of images.

    Args:
        stem: The network, a functional model.
        image: (batch, height, width, channels), symbolic.

    Returns:
        (batch, rows, columns, features), symbolic.
    """
    if not getattr(stem, "inputs", None):
        raise ValueError(
            "`stem` must be a functional model from images to a grid of "
            "features: open a Sequential with keras.Input. Received: "
            f"stem={stem!r}"
        )
    taken = tuple(stem.inputs[0].shape)
    fits = len(taken) == 4 and all(
        size in (None, given)
        for size, given in zip(taken[1:], image.shape[1:], strict=True)
    )
    features = stem(image) if fits else None
    if features is None or len(features.shape) != 4:
        raise ValueError(
            "`stem` must make a grid of features, (batch, rows, columns, "
            f"features), of images of {tuple(image.shape[1:])}: leave pooling "
            "and the classes out (`include_top=False`), and let height and "
            f"width be None, or these. Received: a stem from {taken} to "
            f"{tuple(stem.output_shape)}"
        )
    return features
