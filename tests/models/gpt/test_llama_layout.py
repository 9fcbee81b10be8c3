import numpy as np
import pytest

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.gpt import llama_layout
from keras_attn.models.gpt.model import GPT
from tests.models import folders

NORMS = {
    "input_layernorm": "feed_forward_residual.normalize",
    "post_attention_layernorm": "attention_residual.normalize",
}


@pytest.fixture
def checkpoint(tmp_path):
    def read(**settings):
        folders.write(tmp_path, folders.llama, settings=settings)
        return Checkpoint(tmp_path)

    return read


def test_fields_become_arguments(checkpoint):
    settings = llama_layout.settings(checkpoint(attention_dropout=0.25))
    assert settings == {
        "vocabulary_size": 11,
        "num_layers": 2,
        "num_heads": 6,
        "units": 6,
        "hidden_dim": 10,
        "max_length": 9,
        "position": None,
        "normalization": "rms",
        "epsilon": 1e-5,
        "dropout": 0.0,
        "attention": {"dropout": 0.25, "num_kv_heads": 2, "key_dim": 4},
        "pad_id": None,
    }


def test_a_depth_that_no_field_tells_may_be_known(checkpoint):
    found = checkpoint(head_dim=None, num_key_value_heads=None)
    attention = llama_layout.settings(found, head_dim=16)["attention"]
    assert attention == {"dropout": 0.0, "key_dim": 16}
    found = checkpoint(head_dim=None, num_attention_heads=3)
    assert "key_dim" not in llama_layout.settings(found)["attention"]


def test_the_layers_listed_come_before_those_known(checkpoint):
    known = ["full_attention", "full_attention"]
    listed = ["full_attention", "sliding_attention"]
    for settings, expected in (
        ({}, {"use_bias": True, "sliding_window": None}),
        (
            {"layer_types": listed, "sliding_window": 5},
            [
                {"use_bias": True, "sliding_window": None},
                {"use_bias": True, "sliding_window": 5},
            ],
        ),
    ):
        found = llama_layout.with_windows(
            checkpoint(**settings), {"use_bias": True}, known
        )
        assert found == expected


def test_layers_of_another_number_are_refused(checkpoint):
    with pytest.raises(ValueError, match=r"for each of 2 layers"):
        llama_layout.with_windows(checkpoint(), {}, ["full_attention"] * 3)


def test_norms_and_queries_may_be_changed(checkpoint):
    found = checkpoint()
    settings = llama_layout.settings(found)
    model = found.make(
        GPT,
        **settings
        | {"activation": "swiglu", "use_bias": False, "tie_embeddings": False},
    )
    llama_layout.plan(found, model, NORMS, offset=2.0, query_factor=0.5)
    llama_layout.finish(found, model)
    block, name = model.stack.blocks[1], "model.layers.1"
    np.testing.assert_allclose(
        block.self_attention.query_dense.kernel,
        found.tensor(f"{name}.self_attn.q_proj.weight").T.reshape(6, 6, 4) / 2,
    )
    np.testing.assert_allclose(
        block.feed_forward_residual.normalize.scale,
        found.tensor(f"{name}.input_layernorm.weight") + 2,
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        model.stack.last_norm.scale, found.tensor("model.norm.weight") + 2
    )
