"""Hugging Face's DistilBERT as our BERT."""

from keras_attn.models.bert import checkpoint_heads
from keras_attn.models.bert.checkpoint_heads import HeadNames
from keras_attn.models.checkpoint import Checkpoint

_NAMES = HeadNames(
    pooler="pre_classifier",
    classes="classifier",
    masked_lm=("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
)

# Heads of other tasks, copies of tied weights, and a buffer.
_UNUSED = (
    r"(vocab_transform|vocab_layer_norm|vocab_projector|pre_classifier|"
    r"classifier|qa_outputs)\..*|embeddings\.position_ids"
)


def read(
    cls: type,
    checkpoint: Checkpoint,
    *,
    head: str | None = None,
    num_classes: int | None = None,
    **overrides,
):
    """Make a `BERT` with the weights of a DistilBERT.

    It has no segments, and a pooler, with ReLU, in its classifier alone.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a DistilBERT.
        head: As in `from_bert.read`.
        num_classes: As for the constructor; those of the folder if not
            given.
        overrides: Further arguments of the constructor.

    Reference:
        Sanh et al. 2019, section 3. https://arxiv.org/abs/1910.01108
    """
    checkpoint.prefix = "distilbert."
    if head == "masked_lm":
        checkpoint.expect(tie_word_embeddings=True)
    if num_classes is None:
        num_classes = checkpoint_heads.num_classes(checkpoint, _NAMES, head)
    settings = dict(
        vocabulary_size=checkpoint.setting("vocab_size"),
        num_layers=checkpoint.setting("n_layers"),
        num_heads=checkpoint.setting("n_heads"),
        units=checkpoint.setting("dim"),
        hidden_dim=checkpoint.setting("hidden_dim"),
        max_length=checkpoint.setting("max_position_embeddings"),
        num_segments=0,
        activation=checkpoint.activation("activation", "gelu"),
        dropout=checkpoint.setting("dropout", 0.1),
        pad_id=checkpoint.config.get("pad_token_id", 0),
        pooler_activation=None if head is None else "relu",
        head=head,
        num_classes=num_classes,
    )
    model = checkpoint.make(cls, **settings | overrides)
    _plan_encoder(checkpoint, model)
    fresh = checkpoint_heads.plan(checkpoint, model, _NAMES)
    checkpoint.finish(model, fresh=fresh, unused=_UNUSED)
    return model


def _plan_encoder(checkpoint, model):
    encoder, name = model.encoder, "embeddings"
    positions = encoder.position_embedding.embeddings
    checkpoint.table(
        model.embedding.embeddings, f"{name}.word_embeddings.weight"
    )
    checkpoint.table(positions, f"{name}.position_embeddings.weight")
    checkpoint.norm(encoder.first_norm, f"{name}.LayerNorm")
    for number, block in enumerate(encoder.blocks):
        name = f"transformer.layer.{number}"
        own, feed = block.self_attention, block.feed_forward
        for layer, part in (
            (own.query_dense, "attention.q_lin"),
            (own.key_dense, "attention.k_lin"),
            (own.value_dense, "attention.v_lin"),
            (own.output_dense, "attention.out_lin"),
            (feed.hidden_dense, "ffn.lin1"),
            (feed.output_dense, "ffn.lin2"),
        ):
            checkpoint.dense(layer, f"{name}.{part}")
        for residual, part in (
            (block.attention_residual, "sa_layer_norm"),
            (block.feed_forward_residual, "output_layer_norm"),
        ):
            checkpoint.norm(residual.normalize, f"{name}.{part}")
