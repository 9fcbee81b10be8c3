import functools

import numpy as np
import pytest

from keras_attn.models import from_huggingface
from keras_attn.models.gpt import from_gemma2
from keras_attn.models.gpt.model import GPT
from tests.models import folders
from tests.models.gpt import decoders
from tests.models.gpt import published

# Caps so low that they matter, and layers of both kinds.
SETTINGS = {
    "gain": 1.5,
    "num_hidden_layers": 2,
    "head_dim": 4,
    "query_pre_attn_scalar": 7,
    "sliding_window": 3,
    "attn_logit_softcapping": 1.5,
    "final_logit_softcapping": 4.0,
    "attention_bias": True,
    "tie_word_embeddings": False,
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gemma2")
    return decoders.make("Gemma2", folder, side="right", **SETTINGS)


@pytest.mark.peers
def test_logits_equal_hugging_face(pair):
    decoders.check_logits(pair)


@pytest.mark.peers
def test_logits_equal_tied_without_caps_and_with_layers_listed(tmp_path):
    pair = decoders.make(
        "Gemma2",
        tmp_path,
        head_dim=6,
        query_pre_attn_scalar=6,
        sliding_window=4,
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        layer_types=["full_attention", "sliding_attention"],
    )
    decoders.check_logits(pair)


@pytest.mark.peers
def test_logits_in_half_precision_are_near(pair):
    decoders.check_half_precision(pair)


@pytest.mark.peers
def test_texts_of_both_searches_and_steps_equal_hugging_face(pair):
    decoders.check_texts_and_steps(pair)


gemma2 = functools.partial(folders.llama, "gemma2")


def test_every_weight_is_read_to_its_place(tmp_path):
    tensors = folders.write(
        tmp_path, gemma2, settings={"query_pre_attn_scalar": 16}
    )
    model = GPT.from_huggingface(tmp_path)
    block, name = model.stack.blocks[1], "model.layers.1"
    # Heads of depth 4, as if they were of depth 16.
    np.testing.assert_allclose(
        block.self_attention.query_dense.kernel,
        tensors[f"{name}.self_attn.q_proj.weight"].T.reshape(6, 6, 4) / 2,
    )
    for residual, before, after in (
        (
            block.attention_residual,
            "input_layernorm",
            "post_attention_layernorm",
        ),
        (
            block.feed_forward_residual,
            "pre_feedforward_layernorm",
            "post_feedforward_layernorm",
        ),
    ):
        for norm, part in (
            (residual.normalize, before),
            (residual.normalize_output, after),
        ):
            weight = tensors[f"{name}.{part}.weight"]
            np.testing.assert_allclose(norm.scale, 1 + weight, rtol=1e-6)
    windows = [x.self_attention.sliding_window for x in model.stack.blocks]
    assert windows == [4096, None]
    assert model.config["logit_soft_cap"] == 30
    assert model.project is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"use_bidirectional_attention": True}, "attention=True; only False"),
        ({"hidden_activation": "silu6"}, "hidden_activation='silu6'"),
        ({"final_logit_softcapping": "x"}, "softcapping='x', which should"),
        ({"head_dim": None}, "q_proj.weight' .* does not fit"),
        ({"layer_types": ["full_attention"]}, "for each of 2 layers"),
        ({"tie_word_embeddings": False, "vocab_size": 9}, "does not fit"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    folders.write(tmp_path, gemma2, settings=settings)
    with pytest.raises(ValueError, match=message):
        from_huggingface(tmp_path)


def test_a_missing_norm_is_named(tmp_path):
    folders.write(
        tmp_path, gemma2, drop=["1.post_feedforward_layernorm.weight"]
    )
    with pytest.raises(ValueError, match=r"no tensor 'layers.1.post_feed"):
        from_huggingface(tmp_path)


def test_gemma_2_2b_has_its_parameters(tmp_path):
    found = published.count(
        from_gemma2.settings,
        tmp_path,
        model_type="gemma2",
        vocab_size=256000,
        hidden_size=2304,
        intermediate_size=9216,
        num_hidden_layers=26,
        num_attention_heads=8,
        num_key_value_heads=4,
    )
    assert found == 2_614_341_888
