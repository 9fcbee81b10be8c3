"""Hugging Face's Gemma 2 as our GPT."""

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.gpt import llama_layout
from keras_attn.models.gpt import rope_settings
from keras_attn.modifiers.soft_cap import SoftCap

_NORMS = {
    "input_layernorm": "attention_residual.normalize",
    "post_attention_layernorm": "attention_residual.normalize_output",
    "pre_feedforward_layernorm": "feed_forward_residual.normalize",
    "post_feedforward_layernorm": "feed_forward_residual.normalize_output",
}
_HEAD_DIM = 256


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `GPT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a Gemma 2 model.
        overrides: Arguments of the constructor.
    """
    model = checkpoint.make(cls, **settings(checkpoint) | overrides)
    # Our attention divides by the root of a head's depth, Gemma by that of
    # another number: the queries make up for it.
    depth = model.stack.blocks[0].self_attention.key_dim
    scalar = checkpoint.setting("query_pre_attn_scalar", 256)
    llama_layout.plan(
        checkpoint,
        model,
        _NORMS,
        offset=1.0,
        query_factor=(depth / scalar) ** 0.5,
    )
    llama_layout.finish(checkpoint, model)
    return model


def settings(checkpoint: Checkpoint) -> dict:
    """The arguments of `GPT` that a config.json stands for."""
    checkpoint.expect(use_bidirectional_attention=False)
    given = llama_layout.settings(checkpoint, head_dim=_HEAD_DIM)
    modifiers = [rope_settings.rotary(checkpoint)]
    cap = _cap(checkpoint, "attn_logit_softcapping", 50.0)
    if cap is not None:
        modifiers.append(SoftCap(cap))
    attention = {
        **given["attention"],
        "use_bias": bool(checkpoint.setting("attention_bias", False)),
        "modifiers": modifiers,
    }
    kinds = [
        "full_attention" if number % 2 else "sliding_attention"
        for number in range(given["num_layers"])
    ]
    return given | dict(
        norm="both",
        activation=checkpoint.choose(
            "hidden_activation", llama_layout.GATED, "gelu_pytorch_tanh"
        ),
        use_bias=False,
        tie_embeddings=bool(checkpoint.setting("tie_word_embeddings", True)),
        scale_embedding=True,
        logit_soft_cap=_cap(checkpoint, "final_logit_softcapping", 30.0),
        attention=llama_layout.with_windows(checkpoint, attention, kinds),
    )


def _cap(checkpoint, field, default):
    """A bound, or None where the field is null."""
    if checkpoint.config.get(field, default) is None:
        return None
    return checkpoint.setting(field, default)
