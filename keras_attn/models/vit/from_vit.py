"""Hugging Face's ViT and DeiT as ours."""

import numpy as np

from keras_attn.embeddings.patch import as_pair
from keras_attn.models.checkpoint import Checkpoint

# What comes before the names of tensors, and the class tokens.
_KINDS = {
    "vit": ("vit.", ["cls_token"]),
    "deit": ("deit.", ["cls_token", "distillation_token"]),
}


# Of bare models, which none of our outputs passes.
_UNUSED = r"pooler\.dense\.(weight|bias)"


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `ViT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a ViT or DeiT model, with
            a head for classes or without; DeiT's head must be that of both
            its class tokens.
        overrides: Arguments of the constructor.
    """
    kind = checkpoint.config["model_type"]
    checkpoint.prefix, class_tokens = _KINDS[kind]
    heads = ["classifier"]
    if kind == "deit":
        heads = ["cls_classifier", "distillation_classifier"]
        if checkpoint.has("classifier.weight"):
            raise ValueError(
                f"{checkpoint.folder} holds a DeiT whose head reads one of its "
                "two class tokens. Supported is the head of both, as "
                "`DeiTForImageClassificationWithTeacher` saves it."
            )
    classes = f"{heads[0]}.weight"
    num_classes = None
    if checkpoint.has(classes):
        num_classes = checkpoint.shape(classes)[0]
    qkv_bias = checkpoint.config.get("qkv_bias", True)
    settings = dict(
        image_size=as_pair(
            checkpoint.config.get("image_size", 224), "image_size"
        ),
        patch_size=as_pair(
            checkpoint.config.get("patch_size", 16), "patch_size"
        ),
        num_layers=checkpoint.setting("num_hidden_layers", 12),
        num_heads=checkpoint.setting("num_attention_heads", 12),
        units=checkpoint.setting("hidden_size", 768),
        hidden_dim=checkpoint.setting("intermediate_size", 3072),
        channels=checkpoint.setting("num_channels", 3),
        num_classes=num_classes,
        num_class_tokens=len(class_tokens),
        epsilon=checkpoint.setting("layer_norm_eps", 1e-12),
        activation=checkpoint.activation("hidden_act", "gelu"),
        dropout={
            "attention": checkpoint.setting(
                "attention_probs_dropout_prob", 0.0
            ),
            "output": checkpoint.setting("hidden_dropout_prob", 0.0),
        },
        attention={"use_bias": qkv_bias, "use_output_bias": True},
    )
    model = checkpoint.make(cls, **settings | overrides)
    _plan_embedding(checkpoint, model.embedding, class_tokens)
    for number, block in enumerate(model.encoder.blocks):
        checkpoint.encoder_block(
            block,
            f"encoder.layer.{number}",
            attention="attention.attention",
            norms=("layernorm_before", "layernorm_after"),
        )
    checkpoint.norm(model.encoder.last_norm, "layernorm")
    if num_classes is not None:
        dense = (model.head.class_dense, model.head.distillation_dense)
        for layer, name in zip(dense, heads, strict=False):
            checkpoint.dense(layer, name)
    checkpoint.finish(model, unused=_UNUSED)
    return model


def _plan_embedding(checkpoint, embedding, class_tokens):
    name = "embeddings.patch_embeddings.projection"
    projection = embedding.patch_embedding.projection
    checkpoint.plan(projection.kernel, f"{name}.weight", change=_patch_kernel)
    checkpoint.table(projection.bias, f"{name}.bias")
    checkpoint.plan(
        embedding.class_token.embeddings,
        *(f"embeddings.{token}" for token in class_tokens),
        change=lambda *tokens: np.concatenate(tokens, axis=1)[0],
    )
    checkpoint.plan(
        embedding.position_embedding.embeddings,
        "embeddings.position_embeddings",
        change=lambda table: table[0],
    )


def _patch_kernel(kernel):
    """torch's convolutions keep (units, channels, height, width)."""
    return kernel.transpose(2, 3, 1, 0).reshape(-1, kernel.shape[0])
