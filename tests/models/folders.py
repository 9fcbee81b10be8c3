"""Folders as `save_pretrained` writes them, tiny and with random numbers."""

import json

import numpy as np
from safetensors.numpy import save_file

UNITS, HIDDEN, LAYERS = 6, 10, 2
# Two tensors, one with a prefix.
A = np.arange(6, dtype="float32").reshape(3, 2)
B = np.array([7, 8, 9, 10], "float32")


def _linear(name, rows, columns):
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def _norm(name, size=UNITS):
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}


def gpt2(**sizes):
    """The settings and the shapes of a GPT-2, whose sizes may be others."""
    config = {
        "model_type": "gpt2",
        "vocab_size": 11,
        "n_embd": UNITS,
        "n_layer": LAYERS,
        "n_head": 2,
        "n_positions": 9,
        "n_inner": HIDDEN,
        **sizes,
    }
    units, hidden = config["n_embd"], config["n_inner"]
    shapes = {
        "wte.weight": (config["vocab_size"], units),
        "wpe.weight": (config["n_positions"], units),
    }
    for number in range(config["n_layer"]):
        name = f"h.{number}"
        for part, rows, columns in (
            ("attn.c_attn", units, 3 * units),
            ("attn.c_proj", units, units),
            ("mlp.c_fc", units, hidden),
            ("mlp.c_proj", hidden, units),
        ):
            shapes[f"{name}.{part}.weight"] = (rows, columns)
            shapes[f"{name}.{part}.bias"] = (columns,)
        shapes |= _norm(f"{name}.ln_1", units) | _norm(f"{name}.ln_2", units)
    return config, shapes | _norm("ln_f", units)


def bert():
    """The settings and the shapes of a BERT for pretraining."""
    config = {
        "model_type": "bert",
        "vocab_size": 11,
        "hidden_size": UNITS,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 3,
        "intermediate_size": HIDDEN,
        "max_position_embeddings": 9,
    }
    shapes = {
        "bert.embeddings.word_embeddings.weight": (11, UNITS),
        "bert.embeddings.position_embeddings.weight": (9, UNITS),
        "bert.embeddings.token_type_embeddings.weight": (2, UNITS),
        "cls.predictions.bias": (11,),
    }
    shapes |= _norm("bert.embeddings.LayerNorm")
    shapes |= _linear("bert.pooler.dense", UNITS, UNITS)
    shapes |= _linear("cls.predictions.transform.dense", UNITS, UNITS)
    shapes |= _norm("cls.predictions.transform.LayerNorm")
    shapes |= _linear("cls.seq_relationship", 2, UNITS)
    for number in range(LAYERS):
        name = f"bert.encoder.layer.{number}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _linear(f"{name}.attention.{part}", UNITS, UNITS)
        shapes |= _norm(f"{name}.attention.output.LayerNorm")
        shapes |= _linear(f"{name}.intermediate.dense", HIDDEN, UNITS)
        shapes |= _linear(f"{name}.output.dense", UNITS, HIDDEN)
        shapes |= _norm(f"{name}.output.LayerNorm")
    return config, shapes


def roberta():
    """The settings and the shapes of a RoBERTa for masked tokens."""
    config, shapes = bert()
    config |= {
        "model_type": "roberta",
        "type_vocab_size": 1,
        "max_position_embeddings": 9,
        "pad_token_id": 1,
    }
    shapes = {
        name.replace("bert.", "roberta.", 1): shape
        for name, shape in shapes.items()
        if name.startswith("bert.") and "pooler" not in name
    }
    segments = "roberta.embeddings.token_type_embeddings.weight"
    shapes |= {segments: (1, UNITS), "lm_head.bias": (11,)}
    shapes |= _linear("lm_head.dense", UNITS, UNITS)
    return config, shapes | _norm("lm_head.layer_norm")


def distilbert():
    """The settings and the shapes of a DistilBERT for masked tokens."""
    config = {
        "model_type": "distilbert",
        "vocab_size": 11,
        "dim": UNITS,
        "n_layers": LAYERS,
        "n_heads": 3,
        "hidden_dim": HIDDEN,
        "max_position_embeddings": 9,
    }
    shapes = {
        "distilbert.embeddings.word_embeddings.weight": (11, UNITS),
        "distilbert.embeddings.position_embeddings.weight": (9, UNITS),
        "vocab_projector.bias": (11,),
    }
    shapes |= _norm("distilbert.embeddings.LayerNorm")
    shapes |= _linear("vocab_transform", UNITS, UNITS)
    shapes |= _norm("vocab_layer_norm")
    for number in range(LAYERS):
        name = f"distilbert.transformer.layer.{number}"
        for part in ("q_lin", "k_lin", "v_lin", "out_lin"):
            shapes |= _linear(f"{name}.attention.{part}", UNITS, UNITS)
        shapes |= _norm(f"{name}.sa_layer_norm")
        shapes |= _linear(f"{name}.ffn.lin1", HIDDEN, UNITS)
        shapes |= _linear(f"{name}.ffn.lin2", UNITS, HIDDEN)
        shapes |= _norm(f"{name}.output_layer_norm")
    return config, shapes


def bart():
    """The settings and the shapes of a BART."""
    config = {
        "model_type": "bart",
        "vocab_size": 11,
        "d_model": UNITS,
        "encoder_layers": LAYERS,
        "decoder_layers": LAYERS,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": HIDDEN,
        "decoder_ffn_dim": HIDDEN,
        "max_position_embeddings": 9,
        "pad_token_id": 1,
    }
    shapes = {"model.shared.weight": (11, UNITS)}
    for stack, looks in (
        ("encoder", ["self_attn"]),
        ("decoder", ["self_attn", "encoder_attn"]),
    ):
        name = f"model.{stack}"
        shapes[f"{name}.embed_positions.weight"] = (11, UNITS)
        shapes |= _norm(f"{name}.layernorm_embedding")
        for number in range(LAYERS):
            layer = f"{name}.layers.{number}"
            for look in looks:
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    shapes |= _linear(f"{layer}.{look}.{part}", UNITS, UNITS)
                shapes |= _norm(f"{layer}.{look}_layer_norm")
            shapes |= _linear(f"{layer}.fc1", HIDDEN, UNITS)
            shapes |= _linear(f"{layer}.fc2", UNITS, HIDDEN)
            shapes |= _norm(f"{layer}.final_layer_norm")
    return config, shapes


def marian(*, shared=True):
    """The settings and the shapes of a Marian, with one embedding or two."""
    config, shapes = bart()
    config |= {"model_type": "marian", "pad_token_id": 10}
    config["decoder_start_token_id"] = 10
    shapes = {
        name: shape
        for name, shape in shapes.items()
        if "embed_positions" not in name and "layernorm_embedding" not in name
    }
    if not shared:
        config |= {
            "share_encoder_decoder_embeddings": False,
            "decoder_vocab_size": 12,
        }
        del shapes["model.shared.weight"]
        shapes["model.encoder.embed_tokens.weight"] = (11, UNITS)
        shapes["model.decoder.embed_tokens.weight"] = (12, UNITS)
    return config, shapes


def t5():
    """The settings and the shapes of a T5 of version 1.0."""
    config = {
        "model_type": "t5",
        "vocab_size": 11,
        "d_model": UNITS,
        "d_kv": 5,
        "d_ff": HIDDEN,
        "num_layers": LAYERS,
        "num_heads": 2,
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 9,
    }
    shapes = {"shared.weight": (11, UNITS)}
    for stack, looks in (
        ("encoder", ["SelfAttention"]),
        ("decoder", ["SelfAttention", "EncDecAttention"]),
    ):
        first = f"{stack}.block.0.layer.0.SelfAttention"
        shapes[f"{first}.relative_attention_bias.weight"] = (8, 2)
        for number in range(LAYERS):
            name = f"{stack}.block.{number}.layer"
            for place, look in enumerate(looks):
                for part in ("q", "k", "v"):
                    shapes[f"{name}.{place}.{look}.{part}.weight"] = (10, UNITS)
                shapes[f"{name}.{place}.{look}.o.weight"] = (UNITS, 10)
            dense = f"{name}.{len(looks)}.DenseReluDense"
            shapes[f"{dense}.wi.weight"] = (HIDDEN, UNITS)
            shapes[f"{dense}.wo.weight"] = (UNITS, HIDDEN)
            for place in range(len(looks) + 1):
                shapes[f"{name}.{place}.layer_norm.weight"] = (UNITS,)
        shapes[f"{stack}.final_layer_norm.weight"] = (UNITS,)
    return config, shapes


def vit(kind="vit", **heads):
    """The settings and the shapes of a ViT or a DeiT with a head."""
    heads = heads or {"classifier": 3}
    config = {
        "model_type": kind,
        "hidden_size": UNITS,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": HIDDEN,
        "image_size": 4,
        "patch_size": 2,
    }
    tokens = ["cls_token", "distillation_token"][: 2 if kind == "deit" else 1]
    patches = f"{kind}.embeddings.patch_embeddings.projection"
    shapes = {
        f"{kind}.embeddings.position_embeddings": (1, 4 + len(tokens), UNITS),
        f"{patches}.weight": (UNITS, 3, 2, 2),
        f"{patches}.bias": (UNITS,),
        **_norm(f"{kind}.layernorm"),
    }
    for token in tokens:
        shapes[f"{kind}.embeddings.{token}"] = (1, 1, UNITS)
    for name, classes in heads.items():
        shapes |= _linear(name, classes, UNITS)
    for number in range(LAYERS):
        name = f"{kind}.encoder.layer.{number}"
        heads = [f"attention.{part}" for part in ("query", "key", "value")]
        for part in (*heads, "output.dense"):
            shapes |= _linear(f"{name}.attention.{part}", UNITS, UNITS)
        shapes |= _linear(f"{name}.intermediate.dense", HIDDEN, UNITS)
        shapes |= _linear(f"{name}.output.dense", UNITS, HIDDEN)
        shapes |= _norm(f"{name}.layernorm_before")
        shapes |= _norm(f"{name}.layernorm_after")
    return config, shapes


def vit_gpt2():
    """The settings and the shapes of a captioner, ViT and GPT-2."""
    encoder, seeing = vit()
    decoder, writing = gpt2(n_embd=8)
    decoder |= {"add_cross_attention": True, "bos_token_id": 1}
    config = {
        "model_type": "vision-encoder-decoder",
        "encoder": encoder,
        "decoder": decoder,
        "decoder_start_token_id": 1,
        "pad_token_id": 2,
    }
    shapes = {
        f"encoder.{name.removeprefix('vit.')}": shape
        for name, shape in seeing.items()
        if not name.startswith("classifier")
    }
    units = decoder["n_embd"]
    for number in range(decoder["n_layer"]):
        name = f"h.{number}"
        for part, parts in (("q_attn", 1), ("c_attn", 2), ("c_proj", 1)):
            within = f"{name}.crossattention.{part}"
            writing[f"{within}.weight"] = (units, parts * units)
            writing[f"{within}.bias"] = (parts * units,)
        writing |= _norm(f"{name}.ln_cross_attn", units)
    shapes |= {f"decoder.transformer.{name}": x for name, x in writing.items()}
    return config, shapes | _linear("enc_to_dec_proj", units, UNITS)


def llama(model_type="llama", **settings):
    """The settings and the shapes of a Llama or one of its kin."""
    config = {
        "model_type": model_type,
        "vocab_size": 11,
        "hidden_size": UNITS,
        "intermediate_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "max_position_embeddings": 9,
        "rms_norm_eps": 1e-5,
        "rope_theta": 100.0,
        **settings,
    }
    shapes = {
        "model.embed_tokens.weight": (11, UNITS),
        "model.norm.weight": (UNITS,),
        "lm_head.weight": (11, UNITS),
    }
    norms = ["input_layernorm", "post_attention_layernorm"]
    if model_type == "gemma2":
        norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    for number in range(LAYERS):
        name = f"model.layers.{number}"
        for part, rows, columns in (
            ("self_attn.q_proj", 24, UNITS),
            ("self_attn.k_proj", 8, UNITS),
            ("self_attn.v_proj", 8, UNITS),
            ("self_attn.o_proj", UNITS, 24),
            ("mlp.gate_proj", HIDDEN, UNITS),
            ("mlp.up_proj", HIDDEN, UNITS),
            ("mlp.down_proj", UNITS, HIDDEN),
        ):
            shapes[f"{name}.{part}.weight"] = (rows, columns)
        for norm in norms:
            shapes[f"{name}.{norm}.weight"] = (UNITS,)
        if model_type == "qwen2":
            for part, rows in (("q", 24), ("k", 8), ("v", 8)):
                shapes[f"{name}.self_attn.{part}_proj.bias"] = (rows,)
        if model_type == "qwen3":
            for part in ("q_norm", "k_norm"):
                shapes[f"{name}.self_attn.{part}.weight"] = (4,)
    return config, shapes


def write(folder, kind, *, settings=(), drop=(), more=(), dtype="float32"):
    """Write a folder of a kind.

    Args:
        folder: Where to.
        kind: A function of this module.
        settings: What differs in config.json; None drops a field.
        drop: Endings of the names of tensors that are left out.
        more: Shapes of other tensors, or of the same ones.
        dtype: Of the tensors.

    Returns:
        The tensors by name, as float32.
    """
    rng = np.random.default_rng(5)
    config, shapes = kind()
    config |= dict(settings)
    config = {key: value for key, value in config.items() if value is not None}
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {
        name: rng.normal(size=shape).astype(dtype)
        for name, shape in (shapes | dict(more)).items()
        if not name.endswith(tuple(drop))
    }
    save_file(tensors, folder / "model.safetensors")
    return {name: x.astype("float32") for name, x in tensors.items()}


def write_shards(folder):
    """Write two shards, one tensor in each, and their index."""
    save_file({"top.a.weight": A}, folder / "one.safetensors")
    save_file({"b.weight": B}, folder / "two.safetensors")
    names = {"top.a.weight": "one.safetensors", "b.weight": "two.safetensors"}
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": names}))
