"""The vision transformer, in the forms of its papers."""

from typing import ClassVar

import keras

from keras_attn.base import argument_checks
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.embeddings.patch import as_pair
from keras_attn.models.image_size import check_image_size
from keras_attn.models.make_stack import make_stack
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.vit import from_vit
from keras_attn.models.vit.embedding import VisionEmbedding
from keras_attn.models.vit.head import POOLINGS
from keras_attn.models.vit.head import VisionHead
from keras_attn.models.vit.presets import PRESETS
from keras_attn.models.vit.stem import through_stem

_RESIZE = (
    "Resize the images, or make a model for theirs with "
    "`model.resized((height, width))`, which stretches the positions."
)


@keras.saving.register_keras_serializable(package="keras_attn")
class ViT(PresetModel):
    """Reads an image as a sequence of patches, without convolution.

        x      = [c, W patch(1) + b, …, W patch(n) + b] + P
        tokens = norm(block(… block(x)))
        logits = W_h pool(tokens) + b_h

    `resized` makes it for images of another size; `tokens` returns what the
    head reads, with the attention weights of every layer if asked for.

    Args:
        image_size: Side of the images, or their height and width.
        patch_size: Side of a patch, or its height and width.
        num_layers, num_heads, units: Sizes of the stack; `units` features.
        hidden_dim: Hidden length of the feed-forward networks; four times
            `units` if not given.
        num_classes: Logits of the head; None for no head.
        channels: Of the images.
        stem: A functional model from images to a grid of features, of which
            `patch_size` (1 for every cell) cuts patches: the hybrid.
        shifted_patches: Whether patches are `ShiftedPatchTokenization`'s.
        pooling: What the head reads: "token", the class token; "mean" or
            "attention" over the patches; None for all tokens, without head.
        num_class_tokens: 1 with "token", 2 for DeiT's distillation token;
            else 0, or as many as nobody reads. None for 1 with "token", else
            0.
        distillation_head: Whether DeiT's second token has a head of its own;
            otherwise nobody reads it.
        position: "learned", "sine" (on the grid) or None.
        class_position: Whether learned positions count the class tokens.
        norm, normalization, epsilon, activation, use_bias, layer_scale: Of
            the blocks.
        dropout: Fraction dropped while training, as for `EncoderBlock`.
        stochastic_depth: Rate of the last block, the others' rising to it
            from 0; or a rate for each block.
        attention: Further arguments of every `MultiHeadAttention`.
        kernel_initializer: Of every linear map; None for the papers' normal
            distribution of 0.02, which is little for narrow models.

    Call arguments:
        inputs: (batch, height, width, channels).

    Returns:
        (batch, num_classes) logits, of two heads their mean; without a head
        (batch, units), or (batch, tokens, units) without pooling.

    Reference:
        Dosovitskiy et al. 2021. https://arxiv.org/abs/2010.11929
        Touvron et al. 2021 and 2022. https://arxiv.org/abs/2012.12877,
        https://arxiv.org/abs/2204.07118; Lee et al. 2021.
        https://arxiv.org/abs/2112.13492
    """

    presets = PRESETS
    readers: ClassVar = {"vit": from_vit.read, "deit": from_vit.read}

    def __init__(
        self,
        image_size: int | tuple[int, int],
        *,
        patch_size: int | tuple[int, int],
        num_layers: int,
        num_heads: int,
        units: int,
        hidden_dim: int | None = None,
        num_classes: int | None = None,
        channels: int = 3,
        stem=None,
        shifted_patches: bool = False,
        pooling: str | None = "token",
        num_class_tokens: int | None = None,
        distillation_head: bool = True,
        position: str | None = "learned",
        class_position: bool = True,
        norm: str = "pre",
        normalization: str = "layer",
        epsilon: float = 1e-6,
        activation="gelu",
        use_bias: bool = True,
        layer_scale: float | None = None,
        dropout: float | dict = 0.0,
        stochastic_depth: float | tuple[float, ...] = 0.0,
        attention: dict | None = None,
        kernel_initializer=None,
        dtype=None,
        **kwargs,
    ):
        image_size = as_pair(image_size, "image_size")
        argument_checks.choice(pooling, "pooling", (*POOLINGS, None))
        if pooling is None and num_classes is not None:
            raise ValueError(
                "Classes are read from a vector that needs `pooling`: "
                f"{POOLINGS}. Received: pooling=None, num_classes={num_classes}"
            )
        if num_class_tokens is None:
            num_class_tokens = 1 if pooling == "token" else 0
        normal = keras.initializers.TruncatedNormal(stddev=0.02)
        of_kernels = keras.initializers.get(kernel_initializer) or normal
        own = {"dtype": dtype}
        embedding = VisionEmbedding(
            patch_size,
            units,
            shifted_patches=shifted_patches,
            num_class_tokens=num_class_tokens,
            position=position,
            class_position=class_position,
            initializer=normal,
            kernel_initializer=of_kernels.clone(),
            name="embedding",
            **own,
        )
        block = dict(
            num_heads=num_heads,
            hidden_dim=hidden_dim or 4 * units,
            norm=norm,
            normalization=normalization,
            epsilon=epsilon,
            activation=activation,
            use_bias=use_bias,
            dropout=dropout,
            attention=attention,
            layer_scale=layer_scale,
            stochastic_depth=stochastic_depth,
        )
        encoder = make_stack(
            EncoderBlock,
            num_layers,
            block,
            initializer=of_kernels,
            last_norm=norm != "post",
            dropout=(
                dropout.get("output", 0.0)
                if isinstance(dropout, dict)
                else dropout
            ),
            name="encoder",
            **own,
        )
        head = None
        if pooling is not None:
            head = VisionHead(
                num_classes,
                pooling=pooling,
                num_class_tokens=num_class_tokens,
                distillation_head=distillation_head,
                kernel_initializer=of_kernels.clone(),
                name="head",
                **own,
            )

        image = keras.Input((*image_size, channels), name="image")
        x = image if stem is None else through_stem(stem, image)
        tokens = encoder(embedding(x))
        outputs = tokens if head is None else head(tokens)
        super().__init__(image, outputs, dtype=dtype, **kwargs)
        self.stem = stem
        self.embedding = embedding
        self.encoder = encoder
        self.head = head
        self.grid = embedding.grid
        self.num_class_tokens = num_class_tokens

    def __call__(self, inputs, *args, **kwargs):
        check_image_size(inputs, self.inputs[0].shape, _RESIZE)
        return super().__call__(inputs, *args, **kwargs)

    def tokens(
        self, inputs, *, return_attention_scores: bool = False, training=None
    ):
        """Return all tokens after the last norm, class tokens first.

        Args:
            inputs: As for the call.
            return_attention_scores: Whether to return the weights as well.
            training: Whether anything is dropped.

        Returns:
            (batch, tokens, units), then a list of (batch, heads, tokens,
            tokens) weights, one for each block, if asked for: those that
            made the tokens.
        """
        check_image_size(inputs, self.inputs[0].shape, _RESIZE)
        x = inputs
        if self.stem is not None:
            x = self.stem(x, training=training)
        return self.encoder(
            self.embedding(x),
            training=training,
            return_attention_scores=return_attention_scores,
        )

    def pool(self, tokens):
        """Return the (batch, units) features of what `tokens` returned."""
        return self._head().pool(tokens)

    def classify(self, tokens):
        """Return the logits of what `tokens` returned, as the call does."""
        return self._head()(tokens)

    def each_head(self, tokens) -> dict:
        """Return the logits of each class token, for losses that differ.

        Args:
            tokens: What `tokens` returned.

        Returns:
            `{"class": (batch, num_classes)}`, and "distillation" likewise if
            the second class token has a head.
        """
        return self._head().each(tokens)

    def resized(self, image_size: int | tuple[int, int], **overrides) -> "ViT":
        """Make a model for images of another size, from these weights.

        Learned positions are stretched to the new grid of patches by bicubic
        interpolation.

        Args:
            image_size: As for the constructor.
            overrides: Other arguments of the constructor, such as `dropout`;
                with another `num_classes` or `pooling` the head is new.

        Returns:
            A new model.
        """
        config = {
            **self.get_config(),
            "num_class_tokens": self.num_class_tokens,
            **overrides,
        }
        if "quantized" in config:
            raise ValueError(
                "A quantised model has no weights to copy into another one. "
                "Call `resized` first, then `quantize`."
            )
        config |= {"image_size": image_size, "name": None}
        model = self.from_config(config)
        parts = ["stem", "encoder"]
        if model.head is not None and model.head.reads_like(self.head):
            parts.append("head")
        for part in parts:
            if getattr(self, part) is not None:
                weights = getattr(self, part).get_weights()
                getattr(model, part).set_weights(weights)
        model.embedding.load_grid(self.embedding)
        return model

    def _head(self):
        if self.head is None:
            raise ValueError(
                "This model was made with pooling=None: it returns tokens, and "
                "has no vector of the whole image."
            )
        return self.head
