import functools

import numpy as np
import pytest

from keras_attn.models import from_huggingface
from keras_attn.models.gpt import from_llama
from keras_attn.models.gpt.model import GPT
from tests.models import folders
from tests.models.gpt import decoders
from tests.models.gpt import published

LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 100.0,
    "factor": 4.0,
    "low_freq_factor": 0.5,
    "high_freq_factor": 3.0,
    "original_max_position_embeddings": 16,
}
MODELS = {
    "llama_3": (
        "Llama",
        {
            "num_key_value_heads": None,
            "head_dim": 8,
            "rope_parameters": LLAMA_3,
        },
    ),
    "llama_linear_bias": (
        "Llama",
        {
            "attention_bias": True,
            "mlp_bias": True,
            "hidden_act": "gelu",
            "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_type": "linear",
                "rope_theta": 50.0,
                "factor": 3.0,
            },
        },
    ),
    "mistral": ("Mistral", {"sliding_window": 3, "head_dim": 4, "gain": 2}),
    "qwen2": (
        "Qwen2",
        {
            "use_sliding_window": True,
            "sliding_window": 3,
            "max_window_layers": 1,
            "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 30.0},
        },
    ),
    "qwen3": (
        "Qwen3",
        {
            "head_dim": 4,
            "attention_bias": True,
            "use_sliding_window": True,
            "sliding_window": 4,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def pair(request, tmp_path_factory):
    family, settings = MODELS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    return decoders.make(family, folder, **settings)


@pytest.mark.peers
def test_logits_equal_hugging_face(pair):
    decoders.check_logits(pair)


@pytest.mark.peers
def test_logits_in_half_precision_are_near(pair):
    decoders.check_half_precision(pair)


@pytest.mark.peers
def test_texts_of_both_searches_and_steps_equal_hugging_face(pair):
    decoders.check_texts_and_steps(pair)


def write(folder, model_type="llama", **options):
    kind = functools.partial(folders.llama, model_type)
    return folders.write(folder, kind, **options)


@pytest.mark.parametrize("model_type", ["llama", "mistral", "qwen2", "qwen3"])
def test_every_weight_is_read_to_its_place(model_type, tmp_path):
    tensors = write(tmp_path, model_type)
    model = GPT.from_huggingface(tmp_path)
    block = model.stack.blocks[1]
    attention, name = block.self_attention, "model.layers.1"
    np.testing.assert_array_equal(
        attention.key_dense.kernel,
        tensors[f"{name}.self_attn.k_proj.weight"].T.reshape(6, 2, 4),
    )
    np.testing.assert_array_equal(
        block.feed_forward.value_dense.kernel,
        tensors[f"{name}.mlp.up_proj.weight"].T,
    )
    np.testing.assert_array_equal(
        block.feed_forward_residual.normalize.scale,
        tensors[f"{name}.post_attention_layernorm.weight"],
    )
    np.testing.assert_array_equal(
        model.project.kernel, tensors["lm_head.weight"].T
    )
    assert (attention.query_dense.bias is not None) == (model_type == "qwen2")
    assert attention.output_dense.bias is None
    windows = {
        block.self_attention.sliding_window for block in model.stack.blocks
    }
    assert windows == ({4096} if model_type == "mistral" else {None})
    if model_type == "qwen3":
        norm = attention.modifiers[0]
        np.testing.assert_array_equal(
            norm.key_scale, tensors[f"{name}.self_attn.k_norm.weight"]
        )


def test_what_old_files_hold_beside_the_weights_is_left_out(tmp_path):
    write(
        tmp_path,
        settings={"tie_word_embeddings": True, "pad_token_id": -1},
        more={"model.layers.0.self_attn.rotary_emb.inv_freq": (2,)},
    )
    model = GPT.from_huggingface(tmp_path)
    assert model.project is None
    assert model.config["pad_id"] is None


@pytest.mark.parametrize(
    ("model_type", "settings", "message"),
    [
        ("llama", {"hidden_act": "relu2"}, "hidden_act='relu2'; supported"),
        (
            "llama",
            {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}},
            "rope_type='yarn'; supported are",
        ),
        ("llama", {"quantization_config": {"bits": 4}}, "quantization_config="),
        ("llama", {"hidden_size": None}, "no field 'hidden_size'"),
        ("llama", {"num_hidden_layers": 3}, "no tensor 'layers.2.self_attn"),
        ("llama", {"vocab_size": 12}, "'embed_tokens.weight' .* does not fit"),
        ("llama", {"num_key_value_heads": 3}, "k_proj.weight' .* not fit"),
        ("llama", {"head_dim": None}, r"config.json has heads of depth 1.0"),
        ("llama", {"head_dim": 6}, "q_proj.weight' .* does not fit"),
        ("llama", {"attention_bias": True}, "no tensor .*q_proj.bias'"),
        ("llama", {"mlp_bias": True}, "no tensor .*gate_proj.bias'"),
        ("qwen3", {"head_dim": None}, "q_proj.weight' .* does not fit"),
        (
            "qwen2",
            {"use_sliding_window": True, "layer_types": ["chunked_attention"]},
            r"layer_types=\['chunked_attention'\]; wanted is",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(
    model_type, settings, message, tmp_path
):
    write(tmp_path, model_type, settings=settings)
    with pytest.raises(ValueError, match=message):
        from_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("model_type", "changes", "message"),
    [
        (
            "qwen3",
            {"drop": ["1.self_attn.q_norm.weight"]},
            "no tensor 'layers.1.self_attn.q_norm.weight'",
        ),
        ("llama", {"drop": ["lm_head.weight"]}, "no tensor 'lm_head.weight'"),
        (
            "mistral",
            {"more": {"model.layers.0.self_attn.q_proj.bias": (24,)}},
            "no place for: .*q_proj.bias",
        ),
        (
            "llama",
            {"more": {"model.layers.1.mlp.down_proj.weight": (6, 9)}},
            "'layers.1.mlp.down_proj.weight' .* does not fit",
        ),
    ],
    ids=["norm", "logits", "extra", "shape"],
)
def test_weights_that_do_not_fit_are_named(
    model_type, changes, message, tmp_path
):
    write(tmp_path, model_type, **changes)
    with pytest.raises(ValueError, match=message):
        from_huggingface(tmp_path)


# Fields in the order: type, tokens, features, hidden, layers, heads, key heads.
PUBLISHED = {
    "Llama 3.2 1B": (
        ("llama", 128256, 2048, 8192, 16, 32, 8),
        {"tie_word_embeddings": True, "head_dim": 64},
        1_235_814_400,
    ),
    "Mistral 7B": pytest.param(
        ("mistral", 32000, 4096, 14336, 32, 32, 8),
        {},
        7_241_732_096,
        marks=pytest.mark.slow,
    ),
    "Qwen2 0.5B": (
        ("qwen2", 151936, 896, 4864, 24, 14, 2),
        {"tie_word_embeddings": True},
        494_032_768,
    ),
    "Qwen3 0.6B": (
        ("qwen3", 151936, 1024, 3072, 28, 16, 8),
        {"tie_word_embeddings": True},
        596_049_920,
    ),
}
FIELDS = (
    "model_type",
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
)


@pytest.mark.parametrize(
    ("sizes", "more", "expected"), PUBLISHED.values(), ids=PUBLISHED
)
def test_a_published_size_has_its_parameters(sizes, more, expected, tmp_path):
    config = dict(zip(FIELDS, sizes, strict=True)) | more
    found = published.count(from_llama.settings, tmp_path, **config)
    assert found == expected
