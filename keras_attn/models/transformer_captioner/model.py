"""The captioner that is a Transformer, on a CNN or on the pixels."""

from typing import ClassVar

import keras
from keras import ops

from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.embeddings.patch import PatchEmbedding
from keras_attn.embeddings.patch import as_pair
from keras_attn.embeddings.patch import grid_of
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.grid_encoder import as_grid_encoder
from keras_attn.models.image_size import check_image_size
from keras_attn.models.make_stack import make_stack
from keras_attn.models.stack import as_block
from keras_attn.models.transformer_captioner import from_vit_gpt2
from keras_attn.models.vit.model import ViT


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerCaptioner(EncoderDecoder):
    """Writes what is in an image, without recurrence.

        x      = W patch(i) + b + P[i]         of stem(image), or of the pixels
        memory = encoder(x)
        y      = decoder(√units · E[target] + position, memory)    causal
        logits = E y

    With `patch_size` and no `stem` there is no convolution either: the encoder
    is a ViT without its class token.

    Args:
        vocabulary_size: Number of ids.
        num_layers, num_heads, units, hidden_dim: Sizes of both stacks;
            `units` features, `hidden_dim` four times that if not given.
        num_decoder_layers: If the decoder is not as deep as the encoder.
        encoder: A `ViT` made with `pooling=None`, or its config, in place of
            `stem`, `image_shape` and `patch_size`. All its tokens are read,
            mapped to `units` features if they have others; the sizes above
            are then the decoder's alone.
        stem: A functional model from images to (batch, rows, columns,
            features), such as `keras.applications` without their top. Freeze
            a trained one beforehand, `stem.trainable = False`: its batch norms
            then stay as they are.
        image_shape: Height, width and channels, if there is no `stem`.
        patch_size: Side of a patch, or its height and width, in pixels or in
            cells of the `stem`, of which None takes each. With neither, the
            stem is a small CNN of ours.
        position: Of the words: "sine", "learned", or None where `attention`
            brings a modifier. Those of the image are learned.
        max_length: Positions of words, if they are learned.
        norm, epsilon, activation: Of the blocks.
        dropout: Fraction dropped while training.
        attention: Further arguments of every `MultiHeadAttention`.
        scale_embedding: Whether words are multiplied by √units.
        tie_embeddings: Whether E is the matrix of the logits as well.
        pad_id: The id that is padding; None if none is.

    Call arguments:
        inputs: `{"image": (batch, height, width, channels), "target": (batch,
            target)}`, the ids ragged or dense.

    Returns:
        (batch, target, vocabulary) logits.

    Reference:
        Liu et al. 2021, section 3. https://arxiv.org/abs/2101.10804
    """

    readers: ClassVar = {"vision-encoder-decoder": from_vit_gpt2.read}

    def __init__(
        self,
        vocabulary_size: int,
        *,
        num_layers: int,
        num_heads: int,
        units: int,
        hidden_dim: int | None = None,
        num_decoder_layers: int | None = None,
        encoder=None,
        stem=None,
        image_shape: tuple[int, int, int] | None = None,
        patch_size: int | tuple[int, int] | None = None,
        position: str | None = "sine",
        max_length: int = 1024,
        norm: str = "pre",
        epsilon: float = 1e-5,
        activation="gelu",
        dropout: float = 0.1,
        attention: dict | None = None,
        scale_embedding: bool = True,
        tie_embeddings: bool = True,
        pad_id: int | None = 0,
        dtype=None,
        **kwargs,
    ):
        block = dict(
            num_heads=num_heads,
            hidden_dim=hidden_dim or 4 * units,
            norm=norm,
            epsilon=epsilon,
            activation=activation,
            dropout=dropout,
            attention=attention,
        )
        both = dict(last_norm=norm != "post", dropout=dropout, dtype=dtype)
        patches = project_memory = None
        if encoder is not None:
            encoder = _as_encoder(encoder, stem, image_shape, patch_size)
            grid = encoder.grid
            image = keras.Input(encoder.input_shape[1:], name="image")
            memory = encoder(image)
            if memory.shape[-1] != units:
                project_memory = keras.layers.Dense(
                    units, name="memory", dtype=dtype
                )
                memory = project_memory(memory)
        else:
            if stem is None and patch_size is not None:
                shape = _as_shape(image_shape)
                image = cells = keras.Input(shape, name="image")
            else:
                stem = as_grid_encoder(
                    stem, image_shape, name="stem", dtype=dtype
                )
                given = stem.inputs[0]
                image = keras.Input(
                    given.shape[1:], dtype=given.dtype, name="image"
                )
                cells = stem(image)
            patch_size = as_pair(
                1 if patch_size is None else patch_size, "patch_size"
            )
            patches = PatchEmbedding(
                patch_size, units, name="patch_embedding", dtype=dtype
            )
            x = patches(cells)
            grid = grid_of(cells.shape, patch_size)
            encoder = make_stack(
                EncoderBlock,
                num_layers,
                block,
                position="learned",
                max_length=grid[0] * grid[1],
                name="image_encoder",
                **both,
            )
            memory = encoder(x)
        decoder = make_stack(
            DecoderBlock,
            num_decoder_layers or num_layers,
            block,
            position=position,
            max_length=max_length,
            name="decoder",
            **both,
        )
        embedding = TokenEmbedding(
            vocabulary_size,
            units,
            scale=scale_embedding,
            pad_id=pad_id,
            name="embedding",
            dtype=dtype,
        )
        project = None
        if not tie_embeddings:
            project = keras.layers.Dense(
                vocabulary_size, use_bias=False, name="logits", dtype=dtype
            )
        target = keras.Input((None,), dtype="int32", name="target")
        y = decoder(embedding(target), memory)
        inputs = {"image": image, "target": target}
        logits = project(y) if project else embedding(y, reverse=True)
        super().__init__(inputs, logits, dtype=dtype, **kwargs)
        self.project = project
        self.stem = stem
        self.patches = patches
        self.encoder = encoder
        self.project_memory = project_memory
        self.decoder = decoder
        self.target_embedding = embedding
        self.grid = grid

    def memory(self, image):
        """Return the memory of images: (rows, key, units)."""
        wanted = self.input["image"]
        image = ops.convert_to_tensor(image, wanted.dtype)
        check_image_size(image, wanted.shape, "Resize them, as in training.")
        if self.patches is None:
            memory = self.encoder(image, training=False)
            if self.project_memory is not None:
                memory = self.project_memory(memory)
            # The encoder may compute in another dtype.
            return ops.cast(memory, self.decoder.compute_dtype)
        if self.stem is not None:
            image = self.stem(image, training=False)
        return self.encoder(self.patches(image))

    def read(self, inputs):
        """Read images.

        Args:
            inputs: (rows, height, width, channels); or `{"image": …}`, of
                which "memory" may hold what `memory` makes of them.

        Returns:
            (rows, key, units) memory, of which nothing is padding: None.
        """
        inputs = inputs if isinstance(inputs, dict) else {"image": inputs}
        memory = inputs.get("memory")
        if memory is None:
            memory = self.memory(inputs["image"])
        return memory, None

    def alignment(
        self, inputs, tokens, *, layer: int = -1, head: int | None = None
    ):
        """Where each token of a target attends in the image.

        Args:
            inputs, tokens: As for `teacher_forced`.
            layer: Which block of the decoder; the last if not given.
            head: Which of its heads; their mean if not given.

        Returns:
            (rows, target, grid_rows, grid_columns) float32 attention weights,
            without those of an `encoder`'s class tokens.
        """
        weights = super().alignment(inputs, tokens, layer=layer, head=head)
        rows, columns = self.grid
        weights = weights[..., -rows * columns :]
        return ops.reshape(weights, (*ops.shape(weights)[:2], *self.grid))

    def _logits(self, x):
        return super()._logits(x) if self.project is None else self.project(x)


def _as_encoder(encoder, *others):
    """The ViT that is given, which keeps all its tokens."""
    encoder = as_block(encoder)
    if not isinstance(encoder, ViT) or encoder.head is not None:
        raise ValueError(
            "`encoder` must be a `ViT` that returns its tokens: make it with "
            f"`pooling=None`. Received: encoder={encoder!r}"
        )
    if any(other is not None for other in others):
        raise ValueError(
            "An `encoder` reads the pixels itself: leave `stem`, "
            "`image_shape` and `patch_size` out."
        )
    return encoder


def _as_shape(image_shape):
    """The shape of images, whose pixels are cut into patches."""
    if image_shape is None or len(image_shape) != 3:
        raise ValueError(
            "`patch_size` cuts pixels into patches: give the images' height, "
            "width and channels as `image_shape`, or a `stem` that makes a "
            f"grid of them. Received: image_shape={image_shape}"
        )
    return tuple(image_shape)
