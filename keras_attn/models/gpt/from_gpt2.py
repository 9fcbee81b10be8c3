"""Hugging Face's GPT-2 as our GPT."""

import operator

from keras_attn.models.checkpoint import Checkpoint

# Buffers of the causal mask, and the tied matrix of the logits.
_UNUSED = r"h\.\d+\.attn\.(masked_)?bias|lm_head\.weight"


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `GPT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a GPT-2 model.
        overrides: Arguments of the constructor.
    """
    checkpoint.prefix = "transformer."
    checkpoint.expect(add_cross_attention=False)
    settings = settings_of(checkpoint)
    settings["pad_id"] = checkpoint.config.get("pad_token_id")
    model = checkpoint.make(cls, **settings | overrides)
    plan(checkpoint, model.embedding, model.stack)
    if not settings["tie_embeddings"]:
        checkpoint.dense(model.project, "lm_head")
    checkpoint.finish(model, unused=_UNUSED)
    return model


def settings_of(checkpoint: Checkpoint) -> dict:
    """The arguments that a decoder of GPT-2's kind has in `config.json`."""
    checkpoint.expect(
        scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False
    )
    return dict(
        vocabulary_size=checkpoint.setting("vocab_size"),
        num_layers=checkpoint.setting("n_layer"),
        num_heads=checkpoint.setting("n_head"),
        units=checkpoint.setting("n_embd"),
        hidden_dim=checkpoint.config.get("n_inner"),
        max_length=checkpoint.setting("n_positions"),
        epsilon=checkpoint.setting("layer_norm_epsilon", 1e-5),
        activation=checkpoint.activation("activation_function", "gelu_new"),
        dropout=checkpoint.setting("resid_pdrop", 0.1),
        tie_embeddings=bool(checkpoint.setting("tie_word_embeddings", True)),
    )


def plan(checkpoint: Checkpoint, embedding, stack):
    """Plan every weight but those of cross-attention and untied logits."""
    checkpoint.table(embedding.embeddings, "wte.weight")
    checkpoint.table(stack.position_embedding.embeddings, "wpe.weight")
    for number, block in enumerate(stack.blocks):
        name = f"h.{number}"
        attention = block.self_attention
        parts = attention.query_dense, attention.key_dense
        plan_side_by_side(
            checkpoint,
            (*parts, attention.value_dense),
            f"{name}.attn.c_attn",
        )
        checkpoint.convolution(attention.output_dense, f"{name}.attn.c_proj")
        forward = block.feed_forward
        checkpoint.convolution(forward.hidden_dense, f"{name}.mlp.c_fc")
        checkpoint.convolution(forward.output_dense, f"{name}.mlp.c_proj")
        checkpoint.norm(block.attention_residual.normalize, f"{name}.ln_1")
        checkpoint.norm(block.feed_forward_residual.normalize, f"{name}.ln_2")
    checkpoint.norm(stack.last_norm, "ln_f")


def plan_side_by_side(checkpoint: Checkpoint, layers, name: str):
    """Plan linear maps that are kept as one matrix, such as a query's, a
    key's and a value's."""
    width = checkpoint.shape(f"{name}.weight")[-1] // len(layers)
    for number, layer in enumerate(layers):
        part = slice(number * width, (number + 1) * width)
        for variable, kind in ((layer.kernel, "weight"), (layer.bias, "bias")):
            checkpoint.plan(
                variable,
                f"{name}.{kind}",
                change=operator.itemgetter((..., part)),
            )
