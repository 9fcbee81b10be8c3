import json

import pytest
from safetensors.numpy import save_file

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.gpt import rope_settings

LLAMA_3 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}
OURS = {
    "kind": "llama3",
    "factor": 8.0,
    "low": 1.0,
    "high": 4.0,
    "original_length": 512,
}


@pytest.fixture
def rotary(tmp_path):
    def read(**config):
        (tmp_path / "config.json").write_text(json.dumps(config))
        save_file({}, tmp_path / "model.safetensors")
        return rope_settings.rotary(Checkpoint(tmp_path))

    return read


@pytest.mark.parametrize(
    "config",
    [
        {
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 5e5,
                **LLAMA_3,
            }
        },
        {
            "rope_theta": 5e5,
            "rope_scaling": {"rope_type": "llama3", **LLAMA_3},
        },
        {"rope_theta": 5e5, "rope_scaling": {"type": "llama3", **LLAMA_3}},
    ],
    ids=["transformers_5", "before", "oldest"],
)
def test_all_spellings_mean_the_same(config, rotary):
    modifier = rotary(**config)
    assert modifier.base == 5e5
    assert modifier.scaling == OURS


@pytest.mark.parametrize(
    ("config", "base"),
    [
        ({}, 1e4),
        ({"rope_theta": 20.0}, 20.0),
        ({"rope_theta": 20, "rope_scaling": None}, 20),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}, 7.0),
    ],
    ids=["nothing", "base", "null", "default"],
)
def test_without_a_scaling_there_is_none(config, base, rotary):
    assert rotary(**config).base == base
    assert rotary(**config).scaling is None


def test_the_length_trained_on_is_the_models_if_not_told(rotary):
    scaling = {"rope_type": "llama3", **LLAMA_3}
    del scaling["original_max_position_embeddings"]
    modifier = rotary(rope_scaling=scaling, max_position_embeddings=64)
    assert modifier.scaling["original_length"] == 64


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
            "config.json has rope_scaling of rope_type='dynamic'; supported",
        ),
        (
            {"rope_parameters": {"rope_type": "yarn", "factor": 2.0}},
            "has rope_parameters of rope_type='yarn'",
        ),
        (
            {"rope_parameters": {"full_attention": {"rope_type": "default"}}},
            "has rope_parameters of layers, 'full_attention'",
        ),
        ({"rope_scaling": {"type": "linear"}}, "rope_scaling with factor=None"),
        ({"rope_theta": -1.0}, "rope_theta=-1.0, which should be a number"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5; only 1"),
    ],
    ids=["dynamic", "yarn", "nested", "no_factor", "base", "partial"],
)
def test_what_is_not_supported_is_named(config, message, rotary):
    with pytest.raises(ValueError, match=message):
        rotary(**config)
