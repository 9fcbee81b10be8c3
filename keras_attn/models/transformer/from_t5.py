"""Hugging Face's T5 as our Transformer: versions 1.0 and 1.1, and Flan."""

import math

import numpy as np

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.transformer import from_bart

# Names under which the one embedding may stand again, and a table of the
# first files that no version has used.
_UNUSED = (
    r"lm_head\.weight|(en|de)coder\.embed_tokens\.weight|"
    r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight"
)

# By `feed_forward_proj`. "gated-gelu" has stood for the tanh formula from its
# first day.
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "silu": "silu",
    "gated-gelu": "geglu_tanh",
    "gated-gelu_new": "geglu_tanh",
    "gated-silu": "swiglu",
}


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `Transformer` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a T5 model.
        overrides: Arguments of the constructor.
    """
    checkpoint.expect(is_encoder_decoder=True)
    num_layers = checkpoint.setting("num_layers")
    pad_id = checkpoint.config.get("pad_token_id", 0)
    start_id = checkpoint.config.get("decoder_start_token_id", pad_id)
    # Before transformers 5 an own matrix of the logits meant version 1.1,
    # which does not scale; since then the scale has a field.
    is_first = checkpoint.config.get("tie_word_embeddings") is not False
    activation = checkpoint.choose("feed_forward_proj", _ACTIVATIONS, "relu")
    _expect_consistent(checkpoint)
    settings = dict(
        vocabulary_size=checkpoint.setting("vocab_size"),
        num_layers=num_layers,
        num_decoder_layers=checkpoint.setting("num_decoder_layers", num_layers),
        num_heads=checkpoint.setting("num_heads"),
        units=checkpoint.setting("d_model"),
        hidden_dim=checkpoint.setting("d_ff"),
        position=None,
        relative_bias=_relative_bias(checkpoint),
        norm="pre",
        normalization="rms",
        epsilon=checkpoint.setting("layer_norm_epsilon", 1e-6),
        activation=activation,
        use_bias=False,
        dropout=checkpoint.setting("dropout_rate", 0.1),
        attention={"key_dim": checkpoint.setting("d_kv")},
        scale_embedding=False,
        tie_embeddings=not from_bart.has_own_logits(
            checkpoint, "shared.weight"
        ),
        scale_logits=checkpoint.setting("scale_decoder_outputs", is_first),
        pad_id=pad_id,
        pad_starts=start_id == pad_id,
    )
    model = checkpoint.make(cls, **settings | overrides)
    checkpoint.table(model.target_embedding.embeddings, "shared.weight")
    for stack, name in ((model.encoder, "encoder"), (model.decoder, "decoder")):
        (bias,) = stack.shared_modifiers
        first = f"{name}.block.0.layer.0.SelfAttention"
        checkpoint.plan(bias.table, f"{first}.relative_attention_bias.weight")
        for number, block in enumerate(stack.blocks):
            _plan_block(checkpoint, block, f"{name}.block.{number}.layer")
        _plan_norm(checkpoint, stack.last_norm, f"{name}.final_layer_norm")
    from_bart.plan_logits(checkpoint, model)
    checkpoint.finish(model, unused=_UNUSED)
    return model


def _expect_consistent(checkpoint):
    """Refuse fields that say something else than the one they repeat."""
    name = checkpoint.config.get("feed_forward_proj", "relu")
    inner = "gelu_new" if name == "gated-gelu" else name.split("-")[-1]
    checkpoint.expect(
        dense_act_fn=inner, is_gated_act=name.startswith("gated-")
    )


def _relative_bias(checkpoint):
    """The buckets; the model wants them even, and those of a half enough."""
    names = "relative_attention_num_buckets", "relative_attention_max_distance"
    buckets, distance = map(checkpoint.setting, names, (32, 128))
    if buckets < 4 or buckets % 2 or distance <= buckets // 2:
        raise ValueError(
            f"{checkpoint.path} has {names[0]}={buckets} and {names[1]}="
            f"{distance}; supported are even numbers of buckets from 4 on, "
            "and distances above half of them."
        )
    return {"num_buckets": buckets, "max_distance": distance}


def _plan_block(checkpoint, block, name):
    sublayers = [(block.self_attention, "SelfAttention")]
    residuals = [block.attention_residual]
    if getattr(block, "cross_attention", None) is not None:
        sublayers.append((block.cross_attention, "EncDecAttention"))
        residuals.append(block.cross_residual)
    residuals.append(block.feed_forward_residual)
    for number, (attention, part) in enumerate(sublayers):
        _plan_attention(checkpoint, attention, f"{name}.{number}.{part}")
    for number, residual in enumerate(residuals):
        norm = f"{name}.{number}.layer_norm"
        _plan_norm(checkpoint, residual.normalize, norm)
    feed = block.feed_forward
    dense = f"{name}.{len(sublayers)}.DenseReluDense"
    if feed.value_dense is None:
        checkpoint.dense(feed.hidden_dense, f"{dense}.wi")
    else:
        checkpoint.dense(feed.hidden_dense, f"{dense}.wi_0")
        checkpoint.dense(feed.value_dense, f"{dense}.wi_1")
    checkpoint.dense(feed.output_dense, f"{dense}.wo")


def _plan_attention(checkpoint, attention, name):
    # T5 does not divide its scores by √depth, and our attention does.
    scale = math.sqrt(attention.key_dim)
    checkpoint.plan(
        attention.query_dense.kernel,
        f"{name}.q.weight",
        change=lambda kernel: scale * np.transpose(kernel),
    )
    checkpoint.dense(attention.key_dense, f"{name}.k")
    checkpoint.dense(attention.value_dense, f"{name}.v")
    checkpoint.dense(attention.output_dense, f"{name}.o")


def _plan_norm(checkpoint, norm, name):
    checkpoint.plan(norm.scale, f"{name}.weight")
