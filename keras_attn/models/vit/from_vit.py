"""Hugging Face's ViT and DeiT as ours."""

import numpy as np

from keras_attn.embeddings.patch import as_pair
from keras_attn.models.checkpoint import Checkpoint

# The class tokens of each kind.
_CLASS_TOKENS = {
    "vit": ["cls_token"],
    "deit": ["cls_token", "distillation_token"],
}
# DeiT is saved with a head on its class token, or with one for each token.
_HEADS = (["classifier"], ["cls_classifier", "distillation_classifier"])
# Of bare models, which none of our outputs passes.
_UNUSED = r"pooler\.dense\.(weight|bias)"
_HEAD = r"|(cls_|distillation_)?classifier\.(weight|bias)"


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `ViT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a ViT or DeiT model, with
            a head for classes or without.
        overrides: Arguments of the constructor; `num_classes=None` leaves
            the head out.
    """
    checkpoint.prefix = f"{checkpoint.config['model_type']}."
    settings = settings_of(checkpoint)
    heads = []
    for names in _HEADS:
        if checkpoint.has(f"{names[0]}.weight"):
            heads = names
            settings["num_classes"] = checkpoint.shape(f"{names[0]}.weight")[0]
    settings["distillation_head"] = len(heads) != 1
    settings |= overrides
    model = checkpoint.make(cls, **settings)
    plan(checkpoint, model)
    unused = _UNUSED
    if settings.get("num_classes") is None:
        heads, unused = [], _UNUSED + _HEAD
    if heads:
        checkpoint.dense(model.head.class_dense, heads[0])
    for name in heads[1:]:
        checkpoint.dense(model.head.distillation_dense, name)
    checkpoint.finish(model, unused=unused)
    return model


def settings_of(checkpoint: Checkpoint) -> dict:
    """The arguments of a `ViT` without head, by a folder's `config.json`."""
    tokens = checkpoint.choose("model_type", _CLASS_TOKENS, "vit")
    return dict(
        image_size=_pair(checkpoint, "image_size", 224),
        patch_size=_pair(checkpoint, "patch_size", 16),
        num_layers=checkpoint.setting("num_hidden_layers", 12),
        num_heads=checkpoint.setting("num_attention_heads", 12),
        units=checkpoint.setting("hidden_size", 768),
        hidden_dim=checkpoint.setting("intermediate_size", 3072),
        channels=checkpoint.setting("num_channels", 3),
        num_class_tokens=len(tokens),
        epsilon=checkpoint.setting("layer_norm_eps", 1e-12),
        activation=checkpoint.activation("hidden_act", "gelu"),
        dropout={
            "attention": checkpoint.setting(
                "attention_probs_dropout_prob", 0.0
            ),
            "output": checkpoint.setting("hidden_dropout_prob", 0.0),
        },
        attention={
            "use_bias": bool(checkpoint.setting("qkv_bias", True)),
            "use_output_bias": True,
        },
    )


def plan(checkpoint: Checkpoint, model):
    """Plan every weight of a `ViT` but those of its head."""
    _plan_embedding(checkpoint, model.embedding)
    for number, block in enumerate(model.encoder.blocks):
        checkpoint.encoder_block(
            block,
            f"encoder.layer.{number}",
            attention="attention.attention",
            norms=("layernorm_before", "layernorm_after"),
        )
    checkpoint.norm(model.encoder.last_norm, "layernorm")


def _plan_embedding(checkpoint, embedding):
    name = "embeddings.patch_embeddings.projection"
    projection = embedding.patch_embedding.projection
    checkpoint.plan(projection.kernel, f"{name}.weight", change=_patch_kernel)
    checkpoint.table(projection.bias, f"{name}.bias")
    tokens = _CLASS_TOKENS[checkpoint.config["model_type"]]
    checkpoint.plan(
        embedding.class_token.embeddings,
        *(f"embeddings.{token}" for token in tokens),
        change=lambda *tokens: np.concatenate(tokens, axis=1)[0],
    )
    checkpoint.plan(
        embedding.position_embedding.embeddings,
        "embeddings.position_embeddings",
        change=lambda table: table[0],
    )


def _pair(checkpoint, field, default):
    try:
        return as_pair(checkpoint.config.get(field, default), field)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{checkpoint.says(field)}, which should be an integer, or a "
            "height and a width."
        ) from error


def _patch_kernel(kernel):
    """torch's convolutions keep (units, channels, height, width)."""
    return kernel.transpose(2, 3, 1, 0).reshape(-1, kernel.shape[0])
