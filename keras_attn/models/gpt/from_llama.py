"""Hugging Face's Llama, Mistral, Qwen2 and Qwen3 as our GPT."""

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.gpt import llama_layout
from keras_attn.models.gpt import rope_settings
from keras_attn.modifiers.qk_norm import QKNorm

_NORMS = {
    "input_layernorm": "attention_residual.normalize",
    "post_attention_layernorm": "feed_forward_residual.normalize",
}
# What no field tells: whose query, key and value have biases in any case or
# if a field says so, whose heads are normalised, and who may have windows.
_HAVE_QKV_BIAS = ("qwen2",)
_HAVE_BIAS_FIELD = ("llama", "qwen3")
_HAVE_QK_NORM = ("qwen3",)
_HAVE_WINDOW_SWITCH = ("qwen2", "qwen3")
_HEAD_DIM = {"qwen3": 128}


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `GPT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of one of the models above.
        overrides: Arguments of the constructor.
    """
    model = checkpoint.make(cls, **settings(checkpoint) | overrides)
    llama_layout.plan(checkpoint, model, _NORMS)
    if checkpoint.config["model_type"] in _HAVE_QK_NORM:
        for number, block in enumerate(model.stack.blocks):
            norm = block.self_attention.modifiers[0]
            name = f"layers.{number}.self_attn"
            checkpoint.plan(norm.query_scale, f"{name}.q_norm.weight")
            checkpoint.plan(norm.key_scale, f"{name}.k_norm.weight")
    llama_layout.finish(checkpoint, model)
    return model


def settings(checkpoint: Checkpoint) -> dict:
    """The arguments of `GPT` that a config.json stands for."""
    family = checkpoint.config["model_type"]
    given = llama_layout.settings(checkpoint, head_dim=_HEAD_DIM.get(family))
    modifiers = [rope_settings.rotary(checkpoint)]
    if family in _HAVE_QK_NORM:
        modifiers.insert(0, QKNorm(epsilon=given["epsilon"]))
    has_bias = family in _HAVE_QKV_BIAS
    if family in _HAVE_BIAS_FIELD:
        has_bias = bool(checkpoint.setting("attention_bias", False))
    attention = {
        **given["attention"],
        "use_bias": has_bias,
        "use_output_bias": has_bias and family not in _HAVE_QKV_BIAS,
        "modifiers": modifiers,
    }
    return given | dict(
        activation=checkpoint.choose("hidden_act", llama_layout.GATED, "silu"),
        use_bias=bool(checkpoint.setting("mlp_bias", False)),
        tie_embeddings=bool(checkpoint.setting("tie_word_embeddings", False)),
        attention=_with_windows(checkpoint, family, attention),
    )


def _with_windows(checkpoint, family, attention):
    """Llama sees everything, Mistral its window, Qwen what two fields say."""
    config = checkpoint.config
    if family == "mistral" and config.get("sliding_window", 4096) is not None:
        window = checkpoint.setting("sliding_window", 4096)
        return {**attention, "sliding_window": window}
    switch = config.get("use_sliding_window", False)
    if family not in _HAVE_WINDOW_SWITCH or not switch:
        return attention
    first = checkpoint.setting("max_window_layers", 28)
    kinds = [
        "sliding_attention" if number >= first else "full_attention"
        for number in range(checkpoint.setting("num_hidden_layers"))
    ]
    return llama_layout.with_windows(checkpoint, attention, kinds)
