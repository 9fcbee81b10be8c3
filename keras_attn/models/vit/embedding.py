"""Images as tokens with positions."""

import math

import keras

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.embeddings.class_token import ClassToken
from keras_attn.embeddings.learned_position import LearnedPosition
from keras_attn.embeddings.patch import PatchEmbedding
from keras_attn.embeddings.patch import as_pair
from keras_attn.embeddings.patch import grid_of
from keras_attn.embeddings.shifted_patch import ShiftedPatchTokenization
from keras_attn.embeddings.sine_position import SinePosition

POSITIONS = ("learned", "sine", None)


@keras.saving.register_keras_serializable(package="keras_attn")
class VisionEmbedding(Layer):
    """Patches, with class tokens before them and positions on their grid.

        output = [c, W patch(1) + b, …, W patch(n) + b] + P

    where class tokens may be left without positions. `grid` holds the rows
    and columns of patches, once they are known.

    Args:
        patch_size, units: As for `PatchEmbedding`.
        shifted_patches: Whether patches are `ShiftedPatchTokenization`'s.
        num_class_tokens: 0 or more.
        position: "learned", "sine" or None.
        class_position: Whether learned positions count the class tokens.
        initializer: Of class tokens and positions.
        kernel_initializer: Of W.

    Call arguments:
        images: (batch, height, width, channels), of one size.

    Returns:
        (batch, num_class_tokens + patches, units).

    Reference:
        Dosovitskiy et al. 2021, equation 1. https://arxiv.org/abs/2010.11929
    """

    def __init__(
        self,
        patch_size: int | tuple[int, int],
        units: int,
        *,
        shifted_patches: bool = False,
        num_class_tokens: int = 1,
        position: str | None = "learned",
        class_position: bool = True,
        initializer="glorot_uniform",
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.choice(position, "position", POSITIONS)
        self.patch_size = as_pair(patch_size, "patch_size")
        self.units = units
        self.shifted_patches = shifted_patches
        self.num_class_tokens = argument_checks.integer(
            num_class_tokens, "num_class_tokens", at_least=0
        )
        self.position = position
        self.class_position = class_position
        self.initializer = keras.initializers.get(initializer)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        # Rows of the table that are no patch's.
        self.num_prefix_tokens = 0
        if position == "learned" and class_position:
            self.num_prefix_tokens = num_class_tokens
        own = {"dtype": self.dtype_policy}
        embed = ShiftedPatchTokenization if shifted_patches else PatchEmbedding
        self.patch_embedding = embed(
            patch_size,
            units,
            kernel_initializer=self.kernel_initializer.clone(),
            name="patch_embedding",
            **own,
        )
        self.class_token = None
        if num_class_tokens:
            self.class_token = ClassToken(
                num_class_tokens,
                embeddings_initializer=self.initializer.clone(),
                name="class_token",
                **own,
            )

    def build(self, images_shape):
        self.patch_embedding.build(images_shape)
        self.grid = grid_of(images_shape, self.patch_size)
        tokens_shape = (None, None, self.units)
        self.position_embedding = self._make_position_embedding()
        for layer in (self.class_token, self.position_embedding):
            if layer is not None:
                layer.build(tokens_shape)

    def call(self, images):
        x = self.patch_embedding(images)
        layers = [self.position_embedding, self.class_token]
        for layer in reversed(layers) if self.num_prefix_tokens else layers:
            x = x if layer is None else layer(x)
        return x

    def load_grid(self, other: "VisionEmbedding"):
        """Take the weights of another, its positions stretched to this grid."""
        self.patch_embedding.set_weights(other.patch_embedding.get_weights())
        if self.class_token is not None:
            self.class_token.set_weights(other.class_token.get_weights())
        if self.position == "learned":
            self.position_embedding.load_grid(
                other.position_embedding.embeddings,
                other.grid,
                self.grid,
                num_prefix_tokens=self.num_prefix_tokens,
            )

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "patch_size": self.patch_size,
            "units": self.units,
            "shifted_patches": self.shifted_patches,
            "num_class_tokens": self.num_class_tokens,
            "position": self.position,
            "class_position": self.class_position,
            "initializer": serialize(self.initializer),
            "kernel_initializer": serialize(self.kernel_initializer),
        }

    def _make_position_embedding(self):
        own = {"name": "position_embedding", "dtype": self.dtype_policy}
        if self.position == "learned":
            return LearnedPosition(
                self.num_prefix_tokens + math.prod(self.grid),
                embeddings_initializer=self.initializer.clone(),
                **own,
            )
        if self.position == "sine":
            return SinePosition(grid_width=self.grid[1], **own)
        return None
