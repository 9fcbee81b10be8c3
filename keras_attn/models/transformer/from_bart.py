"""Hugging Face's BART as our Transformer."""

import numpy as np

from keras_attn.models.checkpoint import Checkpoint

# BART's tables of positions begin with two rows that no position uses.
_UNUSED_POSITIONS = 2

# What BART's settings mean if they do not name the token.
_DEFAULT_END_ID = 2

# Names under which the one embedding may stand again, and biases of 0.
UNUSED = r"lm_head\.weight|(en|de)coder\.embed_tokens\.weight|final_logits_bias"


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `Transformer` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a BART model.
        overrides: Arguments of the constructor.
    """
    checkpoint.prefix = "model."
    checkpoint.expect(
        tie_word_embeddings=True,
        normalize_before=False,
        normalize_embedding=True,
        add_final_layer_norm=False,
    )
    settings = dict(
        vocabulary_size=checkpoint.setting("vocab_size"),
        **block_settings(checkpoint),
        position="learned",
        max_length=checkpoint.setting("max_position_embeddings"),
        embedding_norm=True,
        tie_embeddings=not has_own_logits(checkpoint, "shared.weight"),
        logits_bias=has_logits_bias(checkpoint),
        pad_id=checkpoint.config.get("pad_token_id", 1),
        forced_end_id=forced_end_id(checkpoint, _DEFAULT_END_ID),
    )
    model = checkpoint.make(cls, **settings | overrides)
    checkpoint.table(model.target_embedding.embeddings, "shared.weight")
    for stack, name in ((model.encoder, "encoder"), (model.decoder, "decoder")):
        checkpoint.table(
            stack.position_embedding.embeddings,
            f"{name}.embed_positions.weight",
            skip=_UNUSED_POSITIONS,
        )
        checkpoint.norm(stack.first_norm, f"{name}.layernorm_embedding")
        for number, block in enumerate(stack.blocks):
            plan_block(checkpoint, block, f"{name}.layers.{number}")
    plan_logits(checkpoint, model)
    checkpoint.finish(model, unused=UNUSED)
    return model


def block_settings(checkpoint: Checkpoint) -> dict:
    """What Marian has too: the blocks' sizes, and what they are fed."""
    for part in ("attention_heads", "ffn_dim"):
        _expect_same(checkpoint, f"encoder_{part}", f"decoder_{part}")
    return dict(
        num_layers=checkpoint.setting("encoder_layers"),
        num_decoder_layers=checkpoint.setting("decoder_layers"),
        num_heads=checkpoint.setting("encoder_attention_heads"),
        units=checkpoint.setting("d_model"),
        hidden_dim=checkpoint.setting("encoder_ffn_dim"),
        activation=checkpoint.activation("activation_function", "gelu"),
        dropout=checkpoint.setting("dropout", 0.1),
        scale_embedding=checkpoint.setting("scale_embedding", False),
    )


def has_own_logits(checkpoint: Checkpoint, embedding: str) -> bool:
    """Whether the logits have a matrix that is not the embedding's.

    As Hugging Face decides: a folder that holds both may hold one twice.
    """
    if not checkpoint.has("lm_head.weight"):
        return False
    if checkpoint.config.get("tie_word_embeddings") is False:
        return True
    names = "lm_head.weight", embedding
    return not np.array_equal(*map(checkpoint.tensor, names))


def has_logits_bias(checkpoint: Checkpoint) -> bool:
    """Whether a number other than 0 is added to a logit."""
    name = "final_logits_bias"
    return checkpoint.has(name) and bool(np.any(checkpoint.tensor(name)))


def plan_logits(checkpoint: Checkpoint, model):
    """Plan what makes logits, beside the embedding."""
    if model.project is not None:
        checkpoint.dense(model.project, "lm_head")
    if model.logits_bias is not None:
        checkpoint.plan(model.logits_bias.bias, "final_logits_bias")


def plan_block(checkpoint: Checkpoint, block, name: str):
    """Plan an encoder or a decoder block whose tensors' names begin so."""
    _plan_attention(checkpoint, block.self_attention, f"{name}.self_attn")
    checkpoint.norm(
        block.attention_residual.normalize, f"{name}.self_attn_layer_norm"
    )
    if getattr(block, "cross_attention", None) is not None:
        _plan_attention(
            checkpoint, block.cross_attention, f"{name}.encoder_attn"
        )
        checkpoint.norm(
            block.cross_residual.normalize, f"{name}.encoder_attn_layer_norm"
        )
    checkpoint.dense(block.feed_forward.hidden_dense, f"{name}.fc1")
    checkpoint.dense(block.feed_forward.output_dense, f"{name}.fc2")
    checkpoint.norm(
        block.feed_forward_residual.normalize, f"{name}.final_layer_norm"
    )


def _plan_attention(checkpoint, attention, name):
    for layer, part in (
        (attention.query_dense, "q_proj"),
        (attention.key_dense, "k_proj"),
        (attention.value_dense, "v_proj"),
        (attention.output_dense, "out_proj"),
    ):
        checkpoint.dense(layer, f"{name}.{part}")


def forced_end_id(checkpoint: Checkpoint, default: int) -> int | None:
    """As Hugging Face finds it: in a file of its own, where there is one."""
    field = "forced_eos_token_id"
    settings = checkpoint.generation_config
    if settings is None:
        settings = {field: default, **checkpoint.config}
    found = settings.get(field)
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    if found is None or isinstance(found, int):
        return found
    raise ValueError(
        f"{checkpoint.folder} has {field}={found!r}; only a number is "
        "supported."
    )


def _expect_same(checkpoint, one, other):
    """Refuse two settings that differ."""
    first, second = checkpoint.setting(one), checkpoint.setting(other)
    if first != second:
        raise ValueError(
            f"{checkpoint.path} has {one}={first} and {other}={second}; only "
            "equal ones are supported."
        )
