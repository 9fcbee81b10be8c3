"""A text and the regions of an image, with a head for each task."""

import keras

from keras_attn.embeddings.patch import grid_of
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models.logits_bias import LogitsBias
from keras_attn.models.masked_token_head import MaskedTokenHead
from keras_attn.models.new_head import with_new_head
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.vilbert import heads
from keras_attn.models.vilbert.make_streams import make_streams
from keras_attn.models.vilbert.patch_regions import PatchRegions
from keras_attn.models.vilbert.presets import PRESETS
from keras_attn.models.vilbert.region_embedding import RegionEmbedding
from keras_attn.models.vilbert.region_inputs import region_inputs
from keras_attn.models.vilbert.regions_only import RegionsOnly
from keras_attn.models.vilbert.text_embedding import TextEmbedding

# What another head keeps of a model.
_TRUNK = (
    *("embedding", "text_embedding", "region_embedding", "streams"),
    *("text_pooler", "region_pooler"),
)


@keras.saving.register_keras_serializable(package="keras_attn")
class ViLBERT(PresetModel):
    """Reads a text beside an image, in two streams that attend to each other.

        x, y  = text_embedding(tokens), [IMG, region_embedding(regions)]
        x, y  = co_block(text_blocks(x), region_blocks(y))        repeatedly
        fused = relu(W x(0) + b) · relu(U y(0) + c)

    Pretrain with `head="pretraining"`, then fine-tune
    `model.with_head("vqa", num_classes=3129)`. "base-6" has all parameters of
    the released model that an output uses, 235,705,856. The released code
    declares 11,020,800 more: in each co-attention block a second output map
    for either stream (`q_dense1`, `q_dense2`), which nothing reads.

    Args:
        vocabulary_size: Number of ids.
        num_layers, num_heads, units, hidden_dim: Of the text's stream;
            `hidden_dim` is four times `units` if not given.
        num_region_layers, num_region_heads, region_units, region_hidden_dim:
            Of the regions' stream, likewise.
        num_co_heads, co_units: Heads of co-attention, and their features
            together; `co_units` is also the length of what is pooled.
        co_attention_at: Pairs: how many layers of the text and of the regions
            come before each co-attention. If not given, there is one before
            each of the last layers, of as many as both streams have.
        region_features: Length of a region's feature; or
        image_shape, patch_size: Height, width and channels of images, whose
            patches are the regions.
        max_length, num_segments: Positions of tokens, and texts told apart.
        epsilon, activation, dropout: Of all blocks.
        kernel_initializer: Of every linear map; None for BERT's normal
            distribution of 0.02, which is little for narrow models.
        pad_id: The id that is padding; None if none is.
        head: What the model returns; see below.
        num_classes: Number of answers, for "vqa".
        num_region_classes: For "masked_regions" and "pretraining".

    Call arguments:
        inputs: `{"tokens", "segments", "features", "boxes"}`: (batch, length)
            integers each, (batch, regions, region_features) and (batch,
            regions, 4), as for `RegionEmbedding`; in place of the last two
            `"image"`, (batch, height, width, channels), if it has patches.

    Returns:
        Without a head `{"text": (batch, length, units), "regions": (batch, 1 +
        regions, region_units), "pooled_text", "pooled_regions": (batch,
        co_units)}`; "masked_lm": (batch, length, vocabulary) logits;
        "masked_regions": (batch, regions, num_region_classes) logits;
        "alignment": (batch, 2) logits, the second for a text that describes
        the image; "pretraining": a dictionary of these three; "vqa": (batch,
        num_classes) logits; "retrieval": (batch, 1) scores, to be compared
        among texts or images; "referring": (batch, regions, 1) logits.

    Reference:
        Lu et al. 2019. https://arxiv.org/abs/1908.02265
    """

    presets = PRESETS

    def __init__(
        self,
        vocabulary_size: int,
        *,
        num_layers: int,
        num_heads: int,
        units: int,
        hidden_dim: int | None = None,
        num_region_layers: int,
        num_region_heads: int,
        region_units: int,
        region_hidden_dim: int | None = None,
        num_co_heads: int,
        co_units: int,
        co_attention_at: tuple[tuple[int, int], ...] | None = None,
        region_features: int | None = None,
        image_shape: tuple[int, int, int] | None = None,
        patch_size: int | tuple[int, int] | None = None,
        max_length: int = 512,
        num_segments: int = 2,
        epsilon: float = 1e-12,
        activation="gelu",
        dropout: float = 0.1,
        kernel_initializer=None,
        pad_id: int | None = 0,
        head: str | None = None,
        num_classes: int | None = None,
        num_region_classes: int | None = None,
        dtype=None,
        **kwargs,
    ):
        kind = heads.get(head, num_classes, num_region_classes)
        normal = keras.initializers.RandomNormal(stddev=0.02)
        of_kernels = keras.initializers.get(kernel_initializer) or normal

        def dense(size, name, activation=None):
            return keras.layers.Dense(
                size,
                activation=activation,
                kernel_initializer=of_kernels.clone(),
                name=name,
                dtype=dtype,
            )

        def hidden(size, name):
            return MaskedTokenHead(
                units=size,
                activation=activation,
                epsilon=epsilon,
                kernel_initializer=of_kernels.clone(),
                name=name,
                dtype=dtype,
            )

        embedding = TokenEmbedding(
            vocabulary_size,
            units,
            embeddings_initializer=normal.clone(),
            scale=False,
            pad_id=pad_id,
            name="embedding",
            dtype=dtype,
        )
        own = dict(epsilon=epsilon, dropout=dropout, dtype=dtype)
        text_embedding = TextEmbedding(
            max_length,
            num_segments=num_segments,
            initializer=normal.clone(),
            name="text_embedding",
            **own,
        )
        region_embedding = RegionEmbedding(
            region_units,
            kernel_initializer=of_kernels.clone(),
            name="region_embedding",
            **own,
        )
        streams = make_streams(
            dict(
                num_layers=num_layers,
                num_heads=num_heads,
                hidden_dim=hidden_dim or 4 * units,
            ),
            dict(
                num_layers=num_region_layers,
                num_heads=num_region_heads,
                hidden_dim=region_hidden_dim or 4 * region_units,
            ),
            dict(num_heads=num_co_heads, units=co_units),
            at=co_attention_at,
            block=dict(
                epsilon=epsilon,
                activation=activation,
                dropout={"attention": dropout, "output": dropout},
            ),
            initializer=of_kernels,
            dtype=dtype,
        )

        inputs = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in ("tokens", "segments")
        }
        inputs |= region_inputs(region_features, image_shape, patch_size)
        patches = None
        if patch_size is not None:
            patches = PatchRegions(patch_size, name="patches", dtype=dtype)
        text, all_regions = streams(
            text_embedding(embedding(inputs["tokens"]), inputs["segments"]),
            region_embedding(*_regions_of(inputs, patches)),
        )
        text_pooler = region_pooler = None
        pooled = {}
        if kind.pools:
            text_pooler = dense(co_units, "text_pooler", "relu")
            region_pooler = dense(co_units, "region_pooler", "relu")
            pooled_text = text_pooler(text[:, 0])
            pooled_regions = region_pooler(all_regions[:, 0])
            pooled = dict(
                pooled_text=pooled_text,
                pooled_regions=pooled_regions,
                fused=pooled_text * pooled_regions,
            )

        def score_masked(vectors):
            x = hidden(None, "masked_lm")(vectors)
            bias = LogitsBias(name="masked_lm_bias", dtype=dtype)
            return bias(embedding(x, reverse=True))

        only = RegionsOnly(name="regions_only", dtype=dtype)
        outputs = kind.build(
            text=text,
            regions=only(all_regions),
            all_regions=all_regions,
            **pooled,
            dense=dense,
            hidden=hidden,
            drop=keras.layers.Dropout(dropout, name="dropout", dtype=dtype),
            score_masked=score_masked,
            num_classes=num_classes,
            num_region_classes=num_region_classes,
            co_units=co_units,
            region_units=region_units,
        )
        super().__init__(inputs, outputs, dtype=dtype, **kwargs)
        self.embedding = embedding
        self.text_embedding = text_embedding
        self.patches = patches
        self.region_embedding = region_embedding
        self.streams = streams
        self.text_pooler = text_pooler
        self.region_pooler = region_pooler
        self.grid = None
        if patches is not None:
            self.grid = grid_of((None, *image_shape), patches.patch_size)

    def read(self, inputs, *, return_attention_scores: bool = False):
        """Return both streams after their last blocks, before any head.

        Args:
            inputs: As for the call.
            return_attention_scores: Whether to return the weights as well.

        Returns:
            (batch, length, units) of the text, and (batch, 1 + regions,
            region_units), IMG first; if asked for, then two lists with an
            entry for each co-attention: (batch, heads, length, 1 + regions)
            weights from tokens to regions, and (batch, heads, 1 + regions,
            length) from regions to tokens.
        """
        return self.streams(
            self.text_embedding(
                self.embedding(inputs["tokens"]), inputs["segments"]
            ),
            self.region_embedding(*_regions_of(inputs, self.patches)),
            return_attention_scores=return_attention_scores,
        )

    def with_head(
        self, head: str | None, *, num_classes: int | None = None, **overrides
    ) -> "ViLBERT":
        """Make a model with another head, from a copy of these weights.

        Args:
            head: As for the constructor.
            num_classes: As for the constructor.
            overrides: Other arguments of the constructor, such as `dropout`.

        Returns:
            A new model; its head, and its poolers if this model has none, are
            new as well.
        """
        return with_new_head(
            self, _TRUNK, **overrides, head=head, num_classes=num_classes
        )


def _regions_of(inputs, patches):
    """Features and boxes, as they came or cut from images."""
    if patches is None:
        return inputs["features"], inputs["boxes"]
    return patches(inputs["image"])
