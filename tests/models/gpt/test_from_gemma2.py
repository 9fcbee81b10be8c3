import numpy as np
import pytest

from keras_attn.decoding import generate
from keras_attn.models import from_huggingface
from tests.models.gpt import decoders

# Caps so low that they matter, and layers of both kinds.
SETTINGS = {
    "num_hidden_layers": 3,
    "head_dim": 4,
    "query_pre_attn_scalar": 7,
    "sliding_window": 3,
    "attn_logit_softcapping": 1.5,
    "final_logit_softcapping": 4.0,
    "attention_bias": True,
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gemma2")
    return decoders.make("Gemma2", folder, side="right", **SETTINGS)


@pytest.mark.peers
def test_logits_equal_hugging_face(pair):
    np.testing.assert_allclose(
        decoders.logits_of(pair.ours), pair.expected, rtol=1e-4, atol=1e-4
    )


@pytest.mark.peers
def test_logits_equal_without_caps_and_with_layers_listed(tmp_path):
    pair = decoders.make(
        "Gemma2",
        tmp_path,
        head_dim=6,
        query_pre_attn_scalar=6,
        sliding_window=4,
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        layer_types=["full_attention", "sliding_attention"],
        tie_word_embeddings=False,
    )
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
