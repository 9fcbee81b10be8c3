"""Patches that overlap: the image beside itself, shifted."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.embeddings.patch import as_pair
from keras_attn.embeddings.patch import as_patches
from keras_attn.embeddings.patch import check_images


@keras.saving.register_keras_serializable(package="keras_attn")
class ShiftedPatchTokenization(Layer):
    """Patches of the image and of its four diagonal shifts by half a patch.

        z         = [x, s_1(x), s_2(x), s_3(x), s_4(x)]        along channels
        output(i) = W norm(patch(i) of z) + b

    A shift moves the image by half a patch both up or down and left or right;
    what comes in from outside is 0. Each vector so sees its patch's
    neighbours, which helps where there are too few images to learn that from.
    In place of `PatchEmbedding`, with five times its weights.

    Args:
        patch_size: Side of a patch, or its height and width; at least 2.
        units: Length of a patch's vector.
        epsilon: Added to the variance.
        kernel_initializer: Of W.

    Call arguments:
        images: (batch, height, width, channels).

    Returns:
        (batch, patches, units), row by row.

    Reference:
        Lee et al. 2021, section 3.2. https://arxiv.org/abs/2112.13492
    """

    def __init__(
        self,
        patch_size: int | tuple[int, int],
        units: int,
        *,
        epsilon: float = 1e-5,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.patch_size = as_pair(patch_size, "patch_size")
        if min(self.patch_size) < 2:
            raise ValueError(
                "`patch_size` must be at least 2, to be shifted by half of "
                f"it. Received: patch_size={patch_size}. Cells of a feature "
                "grid take `PatchEmbedding(1, units)`."
            )
        argument_checks.above(epsilon, "epsilon")
        self.units = argument_checks.integer(units, "units", at_least=1)
        self.epsilon = epsilon
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.normalize = keras.layers.LayerNormalization(
            epsilon=epsilon, name="norm", dtype=self.dtype_policy
        )
        self.projection = keras.layers.Dense(
            units,
            kernel_initializer=self.kernel_initializer.clone(),
            name="projection",
            dtype=self.dtype_policy,
        )

    def build(self, images_shape):
        check_images(images_shape, self.patch_size)
        height, width = self.patch_size
        shape = (None, None, height * width * 5 * images_shape[-1])
        self.normalize.build(shape)
        self.projection.build(shape)

    def call(self, images):
        check_images(images.shape, self.patch_size)
        images = with_shifts(images, self.patch_size)
        patches = as_patches(images, self.patch_size)
        return self.projection(self.normalize(patches))

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "patch_size": self.patch_size,
            "units": self.units,
            "epsilon": self.epsilon,
            "kernel_initializer": serialize(self.kernel_initializer),
        }


def with_shifts(images, patch_size: tuple[int, int]):
    """Lay images and their four diagonal shifts beside each other.

    Args:
        images: (batch, height, width, channels).
        patch_size: Height and width, of which half is the shift.

    Returns:
        (batch, height, width, 5 · channels): as they are, then shifted down
        and right, down and left, up and right, up and left.
    """
    down, right = (side // 2 for side in patch_size)
    height, width = ops.shape(images)[1:3]
    padded = ops.pad(images, ((0, 0), (down, down), (right, right), (0, 0)))
    shifted = [
        padded[:, top : top + height, left : left + width]
        for top in (0, 2 * down)
        for left in (0, 2 * right)
    ]
    return ops.concatenate([images, *shifted], axis=-1)
