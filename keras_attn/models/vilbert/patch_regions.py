"""The patches of an image as its regions."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.embeddings.patch import as_pair
from keras_attn.embeddings.patch import as_patches
from keras_attn.embeddings.patch import check_images
from keras_attn.embeddings.patch import grid_of


@keras.saving.register_keras_serializable(package="keras_attn")
class PatchRegions(Layer):
    """Cuts images into regions as a ViT does, where no detector finds any.

        feature(i), box(i) = the pixels of patch i, and where it stands

    A linear map of such a feature is `PatchEmbedding`'s.

    Args:
        patch_size: Side of a patch, or its height and width; they must divide
            those of the image.

    Call arguments:
        images: (batch, height, width, channels).

    Returns:
        (batch, patches, patch height · patch width · channels) features and
        (batch, patches, 4) boxes, as `RegionEmbedding` takes them.

    Reference:
        Dosovitskiy et al. 2021, section 3.1. https://arxiv.org/abs/2010.11929
    """

    def __init__(self, patch_size: int | tuple[int, int], **kwargs):
        super().__init__(**kwargs)
        self.patch_size = as_pair(patch_size, "patch_size")

    def build(self, images_shape):
        check_images(images_shape, self.patch_size)

    def call(self, images):
        check_images(images.shape, self.patch_size)
        features = as_patches(images, self.patch_size)
        batch, *_ = shape = ops.shape(images)
        rows, columns = grid_of(shape, self.patch_size)
        boxes = grid_boxes(rows, columns)
        return features, ops.broadcast_to(boxes, (batch, rows * columns, 4))

    def get_config(self):
        return {**super().get_config(), "patch_size": self.patch_size}


def grid_boxes(rows, columns):
    """Where the cells of a grid stand in their image, row by row.

    Returns:
        (rows · columns, 4) float32: left, top, right, bottom as fractions of
        the image's width and height.
    """
    cells = ops.arange(rows * columns, dtype="int32")
    left, top = cells % columns, cells // columns
    corners = ops.stack([left, top, left + 1, top + 1], axis=-1)
    sides = ops.stack([columns, rows, columns, rows])
    return ops.cast(corners, "float32") / ops.cast(sides, "float32")
