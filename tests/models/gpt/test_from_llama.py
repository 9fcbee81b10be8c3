import numpy as np
import pytest

from keras_attn.decoding import generate
from keras_attn.models import from_huggingface
from tests.models.gpt import decoders

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
    "mistral": ("Mistral", {"sliding_window": 3, "head_dim": 4}),
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
    np.testing.assert_allclose(
        decoders.logits_of(pair.ours), pair.expected, rtol=1e-4, atol=1e-4
    )


@pytest.mark.peers
def test_logits_in_half_precision_are_near(pair):
    model = from_huggingface(pair.folder, dtype="bfloat16")
    logits = decoders.logits_of(model)
    assert decoders.distance(logits, pair.expected) < 2e-2


@pytest.mark.peers
def test_greedy_texts_and_steps_equal_hugging_face(pair):
    expected = decoders.greedy_texts(pair)
    texts = generate(
        pair.ours, decoders.ragged(), max_length=decoders.NEW, end_id=-1
    )
    np.testing.assert_array_equal(texts, expected)
    steps, at_once = decoders.stepped(pair.ours, expected[:, :4])
    np.testing.assert_allclose(steps, at_once, rtol=1e-4, atol=1e-4)
