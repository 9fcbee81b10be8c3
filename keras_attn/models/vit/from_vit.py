"""Hugging Face's ViT and DeiT as ours."""

import numpy as np

from keras_attn.embeddings.patch import as_pair
from keras_attn.models.checkpoint import Checkpoint

# What comes before the names of tensors, and the class tokens.
_KINDS = {
    "vit": ("vit.", ["cls_token"]),
    "deit": ("deit.", ["cls_token", "distillation_token"]),
}


def read(cls: type, folder):
    """Make a `ViT` with the weights of a folder.

    Args:
        cls: The class to make.
        folder: Written by `save_pretrained` of a ViT or DeiT model, with a
            head for classes or without; DeiT's head must be that of both its
            class tokens.
    """
    checkpoint = Checkpoint(folder, prefix="")
    kind = checkpoint.choose("model_type", {k: k for k in _KINDS}, "vit")
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
        num_classes = len(checkpoint.tensor(classes))
    qkv_bias = checkpoint.config.get("qkv_bias", True)
    model = cls(
        as_pair(checkpoint.config.get("image_size", 224), "image_size"),
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
    checkpoint.finish(model)
    return model


def _plan_embedding(checkpoint, embedding, class_tokens):
    name = "embeddings.patch_embeddings.projection"
    # torch's convolutions keep (units, channels, height, width).
    kernel = checkpoint.tensor(f"{name}.weight").transpose(2, 3, 1, 0)
    projection = embedding.patch_embedding.projection
    kernel = kernel.reshape(-1, kernel.shape[-1])
    checkpoint.plan(projection.kernel, kernel, f"{name}.weight")
    checkpoint.table(projection.bias, f"{name}.bias")
    tokens = [checkpoint.tensor(f"embeddings.{x}")[0] for x in class_tokens]
    checkpoint.plan(
        embedding.class_token.embeddings, np.concatenate(tokens), "class tokens"
    )
    name = "embeddings.position_embeddings"
    table = embedding.position_embedding.embeddings
    checkpoint.plan(table, checkpoint.tensor(name)[0], name)
