"""The bidirectional encoder, with a head for each of its tasks."""

from typing import ClassVar

import keras

from keras_attn.base import argument_checks
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models.bert import checkpoint_heads
from keras_attn.models.bert import from_bert
from keras_attn.models.bert import from_distilbert
from keras_attn.models.bert import from_roberta
from keras_attn.models.bert import heads
from keras_attn.models.bert.position_logits import PositionLogits
from keras_attn.models.bert.presets import PRESETS
from keras_attn.models.logits_bias import LogitsBias
from keras_attn.models.make_stack import make_stack
from keras_attn.models.masked_token_head import MaskedTokenHead
from keras_attn.models.new_head import with_new_head
from keras_attn.models.preset_model import PresetModel

# What another head keeps of a model.
_TRUNK = ("embedding", "encoder", "segment_embedding", "pooler")


@keras.saving.register_keras_serializable(package="keras_attn")
class BERT(PresetModel):
    """Reads one or two sentences, every token attending to all others.

        x        = norm(E[token(t)] + P[t] + S[segment(t)])
        sequence = block(… block(x))
        pooled   = tanh(W sequence(0) + b)

    Pretrain with `head="masked_lm"` (or "pretraining"), then fine-tune
    `model.with_head("classification", num_classes=2)`.

    Args:
        vocabulary_size: Number of ids.
        num_layers, num_heads, units: Sizes of the stack; `units` features.
        hidden_dim: Hidden length of the feed-forward networks; four times
            `units` if not given.
        max_length: Positions that are learned.
        num_segments: How many sentences can be told apart; with 0, as in
            DistilBERT, segments are not read.
        norm, normalization, epsilon, activation, use_bias: Of the blocks.
        dropout: Fraction dropped while training.
        pooler_activation: Of the map that makes `pooled`, tanh above; None
            for no map, `pooled` being sequence(0).
        attention: Further arguments of every `MultiHeadAttention`.
        pad_id: The id that is padding; None if none is.
        head: What the model returns; see below.
        num_classes: For "classification" and "token_classification".

    Call arguments:
        inputs: `{"tokens", "segments"}`, (batch, length) integers each,
            ragged or dense.

    Returns:
        Without a head `{"sequence": (batch, length, units), "pooled": (batch,
        units)}`; "masked_lm": (batch, length, vocabulary) logits;
        "next_sentence": (batch, 2) logits; "pretraining": a dictionary of the
        last two; "classification": (batch, num_classes) logits;
        "regression": (batch, 1); "token_classification": (batch, length,
        num_classes) logits; "span": `{"start", "end"}`, (batch, length)
        logits each of where an answer begins and of its last token.

    Reference:
        Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
    """

    presets = PRESETS
    readers: ClassVar = {
        "bert": from_bert.read,
        "distilbert": from_distilbert.read,
        "roberta": from_roberta.read,
        "xlm-roberta": from_roberta.read,
    }

    def __init__(
        self,
        vocabulary_size: int,
        *,
        num_layers: int,
        num_heads: int,
        units: int,
        hidden_dim: int | None = None,
        max_length: int = 512,
        num_segments: int = 2,
        norm: str = "post",
        normalization: str = "layer",
        epsilon: float = 1e-12,
        activation="gelu",
        use_bias: bool = True,
        dropout: float = 0.1,
        pooler_activation: str | None = "tanh",
        attention: dict | None = None,
        pad_id: int | None = 0,
        head: str | None = None,
        num_classes: int | None = None,
        dtype=None,
        **kwargs,
    ):
        kind = heads.get(head, num_classes)
        argument_checks.integer(num_segments, "num_segments", at_least=0)
        block = dict(
            num_heads=num_heads,
            hidden_dim=hidden_dim or 4 * units,
            norm=norm,
            normalization=normalization,
            epsilon=epsilon,
            activation=activation,
            use_bias=use_bias,
            dropout={"attention": dropout, "output": dropout},
            attention=attention,
        )
        normal = keras.initializers.RandomNormal(stddev=0.02)

        def embed(kind, size, name, **options):
            return kind(
                size,
                units,
                embeddings_initializer=normal.clone(),
                name=name,
                dtype=dtype,
                **options,
            )

        embedding = embed(
            TokenEmbedding,
            vocabulary_size,
            "embedding",
            scale=False,
            pad_id=pad_id,
        )
        segment_embedding = None
        if num_segments:
            segment_embedding = embed(
                TokenEmbedding,
                num_segments,
                "segment_embedding",
                scale=False,
                pad_id=None,
            )
        encoder = make_stack(
            EncoderBlock,
            num_layers,
            block,
            initializer=normal,
            position="learned",
            max_length=max_length,
            first_norm=True,
            last_norm=norm != "post",
            dropout=dropout,
            name="encoder",
            dtype=dtype,
        )

        def dense(size, name, activation=None):
            return keras.layers.Dense(
                size,
                activation=activation,
                kernel_initializer=normal.clone(),
                name=name,
                dtype=dtype,
            )

        inputs = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in ("tokens", "segments")
        }
        sequence = _encode(encoder, embedding, segment_embedding, inputs)
        pooler = pooled = None
        if kind.pools:
            pooled = sequence[:, 0]
            if pooler_activation is not None:
                pooler = dense(units, "pooler", pooler_activation)
                pooled = pooler(pooled)

        def score_masked(vectors):
            x = MaskedTokenHead(
                activation=activation,
                epsilon=epsilon,
                kernel_initializer=normal.clone(),
                name="masked_lm",
                dtype=dtype,
            )(vectors)
            bias = LogitsBias(name="masked_lm_bias", dtype=dtype)
            return bias(embedding(x, reverse=True))

        outputs = kind.build(
            sequence=sequence,
            pooled=pooled,
            dense=dense,
            drop=keras.layers.Dropout(dropout, name="dropout", dtype=dtype),
            score_masked=score_masked,
            score_positions=lambda name: PositionLogits(
                kernel_initializer=normal.clone(), name=name, dtype=dtype
            ),
            num_classes=num_classes,
        )
        super().__init__(inputs, outputs, dtype=dtype, **kwargs)
        self.embedding = embedding
        self.segment_embedding = segment_embedding
        self.encoder = encoder
        self.pooler = pooler

    @classmethod
    def from_huggingface(
        cls,
        folder,
        *,
        head: str | None = None,
        num_classes: int | None = None,
        **overrides,
    ) -> "BERT":
        """Read a BERT, or one of its kin, of Hugging Face.

        Args:
            folder: What `save_pretrained` wrote, of a type in `readers`:
                `config.json` and the weights (safetensors).
            head: As for the constructor. A head that the folder does not hold
                keeps its random weights, to be fine-tuned.
            num_classes: As for the constructor; the folder's if not given.
            overrides: Further arguments of the constructor, such as `dtype`.
        """
        return super().from_huggingface(
            folder, head=head, num_classes=num_classes, **overrides
        )

    @classmethod
    def checkpoint_task(cls, checkpoint):
        """The head that a folder's `architectures` name."""
        return {"head": checkpoint_heads.head_of(checkpoint)}

    def sequence(self, inputs):
        """Return (batch, length, units) vectors, before any head.

        Args:
            inputs: As for the call.
        """
        return _encode(
            self.encoder, self.embedding, self.segment_embedding, inputs
        )

    def score_masked(self, vectors):
        """Return the masked tokens' logits, (batch, length, vocabulary).

        Args:
            vectors: (batch, length, units), as `sequence` returns them.
        """
        x = self.get_layer("masked_lm")(vectors)
        return self.get_layer("masked_lm_bias")(self.embedding(x, reverse=True))

    def with_head(
        self, head: str | None, *, num_classes: int | None = None, **overrides
    ) -> "BERT":
        """Make a model with another head, from a copy of these weights.

        Args:
            head: As for the constructor.
            num_classes: As for the constructor.
            overrides: Other arguments of the constructor, such as `dropout`.

        Returns:
            A new model; its head, and its pooler if this model has none, are
            new as well.
        """
        return with_new_head(
            self, _TRUNK, **overrides, head=head, num_classes=num_classes
        )


def _encode(encoder, embedding, segment_embedding, inputs):
    added = None
    if segment_embedding is not None:
        added = segment_embedding(inputs["segments"])
    return encoder(embedding(inputs["tokens"]), added=added)
