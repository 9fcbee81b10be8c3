"""The model that makes a grid of features of an image."""

from keras_attn.models.small_cnn import small_cnn


def as_grid_encoder(given, image_shape, *, name: str = "encoder", dtype=None):
    """Take the model that is given, or make a small one.

    Args:
        given: A functional model, (batch, height, width, channels) to (batch,
            rows, columns, features), all sizes known; or None.
        image_shape: Height, width and channels, if none is given.
        name: The argument that it was given as.
        dtype: Dtype or policy of the small one.

    Returns:
        A functional `keras.Model`.

    Raises:
        ValueError: If both or none are given, or if the model has no grid.
    """
    if (given is None) == (image_shape is None):
        raise ValueError(
            f"Give `{name}`, or the `image_shape` for a small one of ours. "
            f"Received: {name}={given!r}, image_shape={image_shape}"
        )
    if given is None:
        return small_cnn(image_shape, name=name, dtype=dtype)
    known = bool(getattr(given, "inputs", None))
    shape = tuple(given.output_shape) if known else None
    if not known or len(shape) != 4 or None in shape[1:]:
        raise ValueError(
            f"`{name}` must be a functional model from images of a known size "
            "to a grid of features, (batch, rows, columns, features): leave "
            "pooling and the classes out (`include_top=False`) and give the "
            f"`input_shape`. Received: {name}={given!r}"
            + (f" with the output {shape}" if known else "")
        )
    return given
