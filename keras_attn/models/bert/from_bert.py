"""Hugging Face's BERT as ours."""

from keras_attn.models.bert import checkpoint_heads
from keras_attn.models.bert.checkpoint_heads import HeadNames
from keras_attn.models.checkpoint import Checkpoint

_NAMES = HeadNames(
    pooler="pooler.dense",
    classes="classifier",
    masked_lm=(
        "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.bias",
    ),
    next_sentence="cls.seq_relationship",
)

# Heads of other tasks than the one asked for, and a buffer.
_UNUSED = r"(cls|classifier|qa_outputs|pooler)\..*|embeddings\.position_ids"


def read(
    cls: type,
    checkpoint: Checkpoint,
    *,
    head: str | None = None,
    num_classes: int | None = None,
    **overrides,
):
    """Make a `BERT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a BERT model.
        head: The head to read; where the folder has none, as for a task that
            it was not trained for, the head keeps its random weights.
        num_classes: As for the constructor; those of the folder if not
            given.
        overrides: Further arguments of the constructor.
    """
    checkpoint.prefix = "bert."
    if num_classes is None:
        num_classes = checkpoint_heads.num_classes(checkpoint, _NAMES, head)
    settings = dict(
        max_length=checkpoint.setting("max_position_embeddings"),
        pad_id=checkpoint.config.get("pad_token_id", 0),
        pooler_activation=pooler_activation(checkpoint, head),
        head=head,
        num_classes=num_classes,
    )
    model = make(cls, checkpoint, **settings | overrides)
    plan_encoder(checkpoint, model)
    fresh = checkpoint_heads.plan(checkpoint, model, _NAMES)
    checkpoint.finish(model, fresh=fresh, unused=_UNUSED)
    return model


def pooler_activation(checkpoint: Checkpoint, head: str | None) -> str | None:
    """That of the pooler, which a folder of bare vectors may not have."""
    parts = (f"pooler.dense.{part}" for part in ("weight", "bias"))
    there = head is not None or any(map(checkpoint.has, parts))
    return "tanh" if there else None


def make(cls: type, checkpoint: Checkpoint, **settings):
    """Make the model, without weights, that `config.json` speaks of."""
    if settings["head"] in ("masked_lm", "pretraining"):
        checkpoint.expect(tie_word_embeddings=True)
    checkpoint.expect(
        position_embedding_type="absolute",
        is_decoder=False,
        add_cross_attention=False,
    )
    common = dict(
        vocabulary_size=checkpoint.setting("vocab_size"),
        num_layers=checkpoint.setting("num_hidden_layers"),
        num_heads=checkpoint.setting("num_attention_heads"),
        units=checkpoint.setting("hidden_size"),
        hidden_dim=checkpoint.setting("intermediate_size"),
        num_segments=checkpoint.setting("type_vocab_size", 2),
        epsilon=checkpoint.setting("layer_norm_eps", 1e-12),
        activation=checkpoint.activation("hidden_act", "gelu"),
        dropout=checkpoint.setting("hidden_dropout_prob", 0.1),
    )
    return checkpoint.make(cls, **common | settings)


def plan_encoder(checkpoint: Checkpoint, model, *, skip: int = 0):
    """Plan all but the heads.

    Args:
        checkpoint: Of BERT, or of RoBERTa, whose names are the same.
        model: A `BERT`.
        skip: How many rows of the positions are never looked up.
    """
    encoder, name = model.encoder, "embeddings"
    checkpoint.table(
        model.embedding.embeddings, f"{name}.word_embeddings.weight"
    )
    checkpoint.table(
        encoder.position_embedding.embeddings,
        f"{name}.position_embeddings.weight",
        skip=skip,
    )
    if model.segment_embedding is not None:
        checkpoint.table(
            model.segment_embedding.embeddings,
            f"{name}.token_type_embeddings.weight",
        )
    checkpoint.norm(encoder.first_norm, f"{name}.LayerNorm")
    for number, block in enumerate(encoder.blocks):
        checkpoint.encoder_block(
            block,
            f"encoder.layer.{number}",
            attention="attention.self",
            norms=("attention.output.LayerNorm", "output.LayerNorm"),
        )
