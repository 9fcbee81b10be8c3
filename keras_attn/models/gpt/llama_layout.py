"""What the checkpoints of Llama and its kin have in common."""

import numpy as np

from keras_attn.models.checkpoint import Checkpoint

GATED = {
    "silu": "swiglu",
    "gelu": "geglu",
    "gelu_new": "geglu_tanh",
    "gelu_pytorch_tanh": "geglu_tanh",
}
# What old files keep beside the weights, and the tied matrix of the logits.
_UNUSED = r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq|lm_head\.weight"


def settings(checkpoint: Checkpoint, *, head_dim: int | None = None) -> dict:
    """Arguments of `GPT`; those of its attention may be added to.

    Args:
        checkpoint: Its `config` is looked at.
        head_dim: The depth of a head if no field tells; the features by the
            heads if not given.
    """
    checkpoint.expect(quantization_config=None)
    heads = checkpoint.setting("num_attention_heads")
    attention = {"dropout": checkpoint.setting("attention_dropout", 0.0)}
    # Either may be null, which is to be as if it were missing.
    for field, name, otherwise in (
        ("num_key_value_heads", "num_kv_heads", None),
        ("head_dim", "key_dim", head_dim),
    ):
        if checkpoint.config.get(field, otherwise) is not None:
            attention[name] = checkpoint.setting(field, otherwise)
    units = checkpoint.setting("hidden_size")
    depth = attention.get("key_dim", units / heads)
    if depth % 2:
        raise ValueError(
            f"{checkpoint.path} has heads of depth {depth} (head_dim, or "
            "hidden_size / num_attention_heads); rotary positions need an "
            "even number."
        )
    pad_id = checkpoint.config.get("pad_token_id")
    return dict(
        vocabulary_size=checkpoint.setting("vocab_size"),
        num_layers=checkpoint.setting("num_hidden_layers"),
        num_heads=heads,
        units=units,
        hidden_dim=checkpoint.setting("intermediate_size"),
        max_length=checkpoint.setting("max_position_embeddings", 2048),
        position=None,
        normalization="rms",
        epsilon=checkpoint.setting("rms_norm_eps", 1e-6),
        dropout=0.0,
        attention=attention,
        # The first files of Llama say -1 where they mean none.
        pad_id=None if pad_id is not None and pad_id < 0 else pad_id,
    )


def with_windows(
    checkpoint: Checkpoint, attention: dict, kinds: list[str]
) -> dict | list[dict]:
    """Arguments of all layers' attention, or of each layer's.

    Args:
        checkpoint: `layer_types` of its `config` comes before `kinds`.
        attention: What the layers have in common.
        kinds: For each layer "sliding_attention", with the window of the
            field of that name, or "full_attention".
    """
    kinds = checkpoint.config.get("layer_types") or kinds
    layers = checkpoint.setting("num_hidden_layers")
    wrong = set(kinds) - {"sliding_attention", "full_attention"}
    if wrong or len(kinds) != layers:
        raise ValueError(
            f"{checkpoint.path} has layer_types={kinds}; wanted is "
            "'sliding_attention' or 'full_attention' for each of "
            f"{layers} layers."
        )
    windows = [
        checkpoint.setting("sliding_window", 4096)
        if kind == "sliding_attention"
        else None
        for kind in kinds
    ]
    each = [{**attention, "sliding_window": window} for window in windows]
    return each if len(set(windows)) > 1 else each[0]


def plan(
    checkpoint: Checkpoint,
    model,
    norms: dict[str, str],
    *,
    offset: float = 0.0,
    query_factor: float = 1.0,
):
    """Plan all weights of a `GPT`, but those of modifiers.

    Args:
        checkpoint: Where they are.
        model: The `GPT`.
        norms: By the names in a layer of the checkpoint, where in a block
            the norms stand, such as "attention_residual.normalize".
        offset: What is added to the scales of all norms.
        query_factor: What the queries are multiplied by.
    """

    def scaled_norm(layer, name):
        checkpoint.plan(layer.scale, name, change=lambda x: x + offset)

    checkpoint.prefix = "model."
    checkpoint.table(model.embedding.embeddings, "embed_tokens.weight")
    for number, block in enumerate(model.stack.blocks):
        name = f"layers.{number}"
        own, feed = block.self_attention, block.feed_forward
        _plan_query(checkpoint, own.query_dense, name, query_factor)
        for layer, part in (
            (own.key_dense, "self_attn.k_proj"),
            (own.value_dense, "self_attn.v_proj"),
            (own.output_dense, "self_attn.o_proj"),
            (feed.hidden_dense, "mlp.gate_proj"),
            (feed.value_dense, "mlp.up_proj"),
            (feed.output_dense, "mlp.down_proj"),
        ):
            checkpoint.dense(layer, f"{name}.{part}")
        for part, place in norms.items():
            residual, norm = place.split(".")
            layer = getattr(getattr(block, residual), norm)
            scaled_norm(layer, f"{name}.{part}.weight")
    scaled_norm(model.stack.last_norm, "norm.weight")
    if model.project is not None:
        checkpoint.dense(model.project, "lm_head")


def finish(checkpoint: Checkpoint, model):
    """Read what was planned; what old files hold beside it is left out."""
    checkpoint.finish(model, unused=_UNUSED)


def _plan_query(checkpoint, layer, name, factor):
    name = f"{name}.self_attn.q_proj"
    if factor == 1:
        checkpoint.dense(layer, name)
        return
    factor = np.float32(factor)
    checkpoint.plan(
        layer.kernel,
        f"{name}.weight",
        change=lambda x: np.transpose(x) * factor,
    )
    if layer.bias is not None:
        checkpoint.plan(layer.bias, f"{name}.bias", change=lambda x: x * factor)
