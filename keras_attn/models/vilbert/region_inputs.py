"""What a model is told of an image: regions, or pixels to cut them from."""

import keras

from keras_attn.embeddings.patch import as_pair
from keras_attn.embeddings.patch import check_images


def region_inputs(region_features, image_shape, patch_size) -> dict:
    """Make the inputs of regions.

    Args:
        region_features: Length of a region's feature; or None, and
        image_shape: Height, width and channels of images, and
        patch_size: Side of their patches, or height and width.

    Returns:
        `{"features", "boxes"}`, (batch, regions, region_features) and (batch,
        regions, 4); or `{"image"}`, (batch, height, width, channels).

    Raises:
        ValueError: If they do not say what regions are, or say it twice.
    """
    given = region_features is not None
    cut = (image_shape, patch_size) != (None, None)
    if given == cut or (cut and None in (image_shape, patch_size)):
        raise ValueError(
            "Regions are features and boxes, of which `region_features` says "
            "the length, or patches of images, for which give `image_shape` "
            "and `patch_size`. Received: "
            f"region_features={region_features}, image_shape={image_shape}, "
            f"patch_size={patch_size}"
        )
    if cut:
        check_images((None, *image_shape), as_pair(patch_size, "patch_size"))
        return {"image": keras.Input(tuple(image_shape), name="image")}
    lengths = {"features": region_features, "boxes": 4}
    return {
        name: keras.Input((None, length), name=name)
        for name, length in lengths.items()
    }
