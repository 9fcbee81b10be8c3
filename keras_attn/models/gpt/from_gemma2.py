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


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `GPT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a Gemma 2 model.
        overrides: Arguments of the constructor.
    """
    checkpoint.expect(use_bidirectional_attention=False)
    settings = llama_layout.settings(checkpoint, head_dim=256)
    modifiers = [rope_settings.rotary(checkpoint)]
    cap = _cap(checkpoint, "attn_logit_softcapping", 50.0)
    if cap is not None:
        modifiers.append(SoftCap(cap))
    attention = {
        **settings["attention"],
        "use_bias": bool(checkpoint.setting("attention_bias", False)),
        "modifiers": modifiers,
    }
    kinds = [
        "full_attention" if number % 2 else "sliding_attention"
        for number in range(settings["num_layers"])
    ]
    settings |= dict(
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
    # Our attention divides by the root of a head's depth, Gemma by that of
    # another number: the queries make up for it.
    scalar = checkpoint.setting("query_pre_attn_scalar", 256)
    model = checkpoint.make(cls, **settings | overrides)
    llama_layout.plan(
        checkpoint,
        model,
        _NORMS,
        offset=1.0,
        query_factor=(attention["key_dim"] / scalar) ** 0.5,
    )
    llama_layout.finish(checkpoint, model)
    return model


def _cap(checkpoint, field, default):
    """A bound, or None where the field is null."""
    if checkpoint.config.get(field, default) is None:
        return None
    return checkpoint.setting(field, default)
