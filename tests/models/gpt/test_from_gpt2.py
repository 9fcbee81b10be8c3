import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import generate
from keras_attn.models.gpt.model import GPT
from tests.models import folders
from tests.models import peers

SETTINGS = {
    "plain": {},
    "relu_inner": {"activation_function": "relu", "n_inner": 10},
    "untied_eps": {"tie_word_embeddings": False, "layer_norm_epsilon": 0.01},
    "exact_gelu": {"activation_function": "gelu", "n_head": 1, "n_layer": 1},
}


def config_of(**settings):
    return peers.transformers().GPT2Config(
        **{
            "vocab_size": 13,
            "n_embd": 8,
            "n_layer": 3,
            "n_head": 2,
            "n_positions": 24,
            "bos_token_id": None,
            "eos_token_id": None,
            **settings,
        }
    )


@pytest.mark.peers
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("shards", [{}, {"max_shard_size": "2KB"}])
def test_logits_equal_hugging_face(settings, shards, rng, tmp_path):
    peer = peers.make(
        "GPT2LMHeadModel", config_of(**settings), tmp_path, **shards
    )
    assert (len(list(tmp_path.glob("*.safetensors"))) > 1) == bool(shards)
    tokens = rng.integers(0, 13, size=(3, 7))
    expected = peers.ask(peer, input_ids=tokens)["logits"]
    model = GPT.from_huggingface(tmp_path)
    np.testing.assert_allclose(model(tokens), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.peers
def test_padding_is_hidden_as_by_the_attention_mask(rng, tmp_path):
    peer = peers.make("GPT2LMHeadModel", config_of(pad_token_id=5), tmp_path)
    tokens = rng.integers(6, 13, size=(2, 7))
    tokens[1, 4:] = 5
    mask = (tokens != 5).astype("int64")
    answer = peers.ask(peer, input_ids=tokens, attention_mask=mask)
    logits = GPT.from_huggingface(tmp_path)(tokens)
    real = mask.astype(bool)
    np.testing.assert_allclose(
        logits.numpy()[real], answer["logits"][real], rtol=1e-4, atol=1e-4
    )


@pytest.mark.peers
def test_greedy_texts_equal_hugging_face(rng, tmp_path):
    import torch

    peer = peers.make("GPT2LMHeadModel", config_of(), tmp_path)
    rows = [rng.integers(0, 13, size=length) for length in (5, 1, 3)]
    expected = []
    for row in rows:  # alone, so that nothing is padded
        ids = torch.tensor(row)[None]
        answer = peer.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=12,
            do_sample=False,
            pad_token_id=0,
        )
        expected.append(answer[0, len(row) :].numpy())
    texts = generate(
        GPT.from_huggingface(tmp_path),
        tf.ragged.constant([list(row) for row in rows]),
        max_length=12,
        end_id=-1,
    )
    np.testing.assert_array_equal(texts, expected)


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_reads_names_with_and_without_prefix(prefix, tmp_path):
    def kind():
        config, shapes = folders.gpt2()
        return config, {prefix + name: shapes[name] for name in shapes}

    tensors = folders.write(tmp_path, kind)
    model = GPT.from_huggingface(tmp_path)
    block = model.stack.blocks[1]
    joined = tensors[f"{prefix}h.1.attn.c_attn.weight"]
    np.testing.assert_array_equal(
        block.self_attention.value_dense.kernel,
        joined[:, 12:].reshape(6, 2, 3),
    )
    np.testing.assert_array_equal(
        model.stack.last_norm.beta, tensors[f"{prefix}ln_f.bias"]
    )
    assert model.get_config()["hidden_dim"] == 10
    assert model.get_config()["pad_id"] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "opt"}, "model_type='opt'; GPT reads"),
        ({"activation_function": "swish9"}, "activation_function='swish9'"),
        ({"scale_attn_weights": False}, "scale_attn_weights=False"),
        (
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx=True",
        ),
        ({"add_cross_attention": True}, "add_cross_attention=True"),
        ({"n_embd": None}, "no field 'n_embd'"),
        ({"n_layer": "two"}, "n_layer='two', which should be a number"),
        ({"n_layer": 3}, "holds no tensor 'h.2.attn.c_attn.weight'"),
        ({"n_positions": 8}, "'wpe.weight' .* does not fit"),
        ({"n_inner": 9}, "'h.0.mlp.c_fc.weight' .* does not fit"),
        ({"vocab_size": 12}, "'wte.weight' .* does not fit"),
        ({"n_head": 4}, "`num_heads` must divide"),
        ({"tie_word_embeddings": False}, "holds no tensor 'lm_head.weight'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    folders.write(tmp_path, folders.gpt2, settings=settings)
    with pytest.raises(ValueError, match=message):
        GPT.from_huggingface(tmp_path)


def test_a_joined_matrix_of_the_wrong_size_is_named(tmp_path):
    more = {"h.0.attn.c_attn.bias": (12,)}
    folders.write(tmp_path, folders.gpt2, more=more)
    with pytest.raises(
        ValueError, match=r"'h.0.attn.c_attn.bias' .* does not fit"
    ):
        GPT.from_huggingface(tmp_path)


def test_a_missing_tensor_is_named(tmp_path):
    folders.write(tmp_path, folders.gpt2, drop=["h.1.ln_2.bias"])
    with pytest.raises(ValueError, match=r"no tensor 'h.1.ln_2.bias'"):
        GPT.from_huggingface(tmp_path)
