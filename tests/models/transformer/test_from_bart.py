import json

import numpy as np
import pytest

from keras_attn.decoding import generate
from keras_attn.models.transformer.model import Transformer
from tests.models import folders
from tests.models import peers
from tests.models.seq2seq import BART_SETTINGS

SETTINGS = {
    "plain": {},
    "deeper_decoder": {"decoder_layers": 3, "activation_function": "relu"},
    "scaled": {"scale_embedding": True, "encoder_layers": 1},
    "other_pad": {"pad_token_id": 4, "activation_function": "gelu_new"},
}


def config_of(**settings):
    return peers.transformers().BartConfig(
        **{
            **BART_SETTINGS,
            "vocab_size": 13,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 2,
            "decoder_start_token_id": 2,
            **settings,
        }
    )


def padded(rng, pad_id, shape):
    tokens = rng.integers(5, 13, size=shape)
    tokens[1, 4:] = pad_id
    return tokens, (tokens != pad_id)


@pytest.mark.peers
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("shards", [{}, {"max_shard_size": "2KB"}])
@pytest.mark.parametrize("name", ["BartForConditionalGeneration", "BartModel"])
def test_logits_equal_hugging_face(name, settings, shards, rng, tmp_path):
    peer = peers.make(name, config_of(**settings), tmp_path, **shards)
    pad_id = settings.get("pad_token_id", 1)
    source, source_mask = padded(rng, pad_id, (3, 7))
    target, target_mask = padded(rng, pad_id, (3, 6))
    answer = peers.ask(
        peer,
        input_ids=source,
        attention_mask=source_mask.astype("int64"),
        decoder_input_ids=target,
        decoder_attention_mask=target_mask.astype("int64"),
    )
    model = Transformer.from_huggingface(tmp_path)
    logits = model({"source": source, "target": target}).numpy()
    if name == "BartModel":  # which stops before the logits
        matrix = model.target_embedding.embeddings.numpy()
        expected = answer["last_hidden_state"] @ matrix.T
    else:
        expected = answer["logits"]
    np.testing.assert_allclose(
        logits[target_mask], expected[target_mask], rtol=1e-4, atol=1e-4
    )


@pytest.mark.peers
def test_greedy_texts_equal_hugging_face(rng, tmp_path):
    import torch

    config = config_of(eos_token_id=None)
    peer = peers.make("BartForConditionalGeneration", config, tmp_path)
    source, mask = padded(rng, 1, (3, 7))
    expected = peer.generate(
        torch.tensor(source),
        attention_mask=torch.tensor(mask.astype("int64")),
        max_new_tokens=12,
        num_beams=1,
        do_sample=False,
    )
    texts = generate(
        Transformer.from_huggingface(tmp_path),
        source,
        max_length=12,
        start_id=2,
        end_id=-1,
    )
    np.testing.assert_array_equal(texts, expected[:, 1:])


@pytest.mark.peers
@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_cut_off_texts_end_as_hugging_face_ends_them(search, rng, tmp_path):
    import torch

    # No row ends before: beams that do are ranked in ways of their own.
    config = config_of(forced_eos_token_id=2, eos_token_id=None)
    peer = peers.make("BartForConditionalGeneration", config, tmp_path)
    source, mask = padded(rng, 1, (3, 7))
    width = {"greedy": 1, "beam": 3}[search]
    expected = peer.generate(
        torch.tensor(source),
        attention_mask=torch.tensor(mask.astype("int64")),
        max_new_tokens=5,
        num_beams=width,
        length_penalty=0.0,
        do_sample=False,
    ).numpy()[:, 1:]
    texts = generate(
        Transformer.from_huggingface(tmp_path),
        source,
        search=search,
        max_length=5,
        start_id=2,
        end_id=-1,
        **{"width": width} if width > 1 else {},
    )
    texts = texts[0][:, 0] if width > 1 else texts
    np.testing.assert_array_equal(texts, expected)
    assert np.all(texts[:, -1] == 2)
    assert np.any(texts[:, :-1] != 2)


@pytest.mark.parametrize(
    ("config", "generation", "expected"),
    [
        ({}, None, 2),
        ({"forced_eos_token_id": 5}, None, 5),
        ({"forced_eos_token_id": 5}, {}, None),
        ({"forced_eos_token_id": 5}, {"forced_eos_token_id": 7}, 7),
        ({}, {"forced_eos_token_id": [7]}, 7),
    ],
    ids=["default", "config", "file_without", "file", "list"],
)
def test_the_forced_end_is_the_one_that_hugging_face_takes(
    config, generation, expected, tmp_path
):
    folders.write(tmp_path, folders.bart, settings=config)
    if generation is not None:
        path = tmp_path / "generation_config.json"
        path.write_text(json.dumps(generation))
    model = Transformer.from_huggingface(tmp_path)
    assert model.forced_end_id == expected
    assert model.get_config()["forced_end_id"] == expected


def test_two_forced_ends_are_refused(tmp_path):
    settings = {"forced_eos_token_id": [2, 3]}
    folders.write(tmp_path, folders.bart, settings=settings)
    with pytest.raises(ValueError, match=r"forced_eos_token_id=\[2, 3\]"):
        Transformer.from_huggingface(tmp_path)


def test_tables_of_positions_lose_their_unused_rows(tmp_path):
    tensors = folders.write(tmp_path, folders.bart)
    model = Transformer.from_huggingface(tmp_path)
    np.testing.assert_array_equal(
        model.decoder.position_embedding.embeddings,
        tensors["model.decoder.embed_positions.weight"][2:],
    )
    np.testing.assert_array_equal(
        model.decoder.blocks[1].cross_attention.output_dense.kernel,
        tensors[
            "model.decoder.layers.1.encoder_attn.out_proj.weight"
        ].T.reshape(2, 3, 6),
    )
    assert model.get_config()["pad_id"] == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "mbart"}, "model_type='mbart'; Transformer reads"),
        ({"activation_function": "mish9"}, "activation_function='mish9'"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"normalize_before": True}, "normalize_before=True"),
        (
            {"encoder_attention_heads": 3},
            "encoder_attention_heads=3 and decoder_attention_heads=2",
        ),
        ({"decoder_ffn_dim": 9}, "encoder_ffn_dim=10 and decoder_ffn_dim=9"),
        ({"d_model": None}, "no field 'd_model'"),
        ({"max_position_embeddings": 10}, "embed_positions.* does not fit"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    folders.write(tmp_path, folders.bart, settings=settings)
    with pytest.raises(ValueError, match=message):
        Transformer.from_huggingface(tmp_path)


def test_the_logits_may_have_a_bias_and_a_matrix_of_their_own(tmp_path):
    more = {"final_logits_bias": (1, 11), "lm_head.weight": (11, 6)}
    tensors = folders.write(tmp_path, folders.bart, more=more)
    model = Transformer.from_huggingface(tmp_path)
    np.testing.assert_array_equal(
        model.logits_bias.bias, tensors["final_logits_bias"][0]
    )
    np.testing.assert_array_equal(
        model.project.kernel, tensors["lm_head.weight"].T
    )


def test_a_missing_tensor_is_named(tmp_path):
    name = "decoder.layers.1.encoder_attn.q_proj.bias"
    folders.write(tmp_path, folders.bart, drop=[name])
    with pytest.raises(ValueError, match=f"holds no tensor '{name}'"):
        Transformer.from_huggingface(tmp_path)
