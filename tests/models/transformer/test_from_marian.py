import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_attn import models
from keras_attn.models.transformer.model import Transformer
from tests.models import folders
from tests.models import peers
from tests.models import seq2seq
from tests.models.seq2seq import BART_SETTINGS
from tests.models.seq2seq import check_varied
from tests.models.seq2seq import logits_of_both
from tests.models.seq2seq import texts_of_both

TWO = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 15}
SETTINGS = {
    "published": {"activation_function": "swish", "scale_embedding": True},
    "odd_units": {
        "d_model": 9,
        "encoder_attention_heads": 3,
        "decoder_attention_heads": 3,
        "activation_function": "relu",
        "decoder_layers": 3,
    },
    "two_vocabularies": {**TWO, "encoder_layers": 1},
    "untied": {"tie_word_embeddings": False, "activation_function": "gelu"},
    "two_untied": {**TWO, "tie_word_embeddings": False},
    "another_start": {"decoder_start_token_id": 3, "pad_token_id": 5},
}


def config_of(**settings):
    return peers.transformers().MarianConfig(
        **{
            **BART_SETTINGS,
            "vocab_size": 17,
            "pad_token_id": 14,
            "decoder_start_token_id": 14,
            "eos_token_id": 0,
            **settings,
        }
    )


def biased(model):
    """Give the logits a bias, as no new model has."""
    model.final_logits_bias.normal_()


def vivid(model):
    """Let sublayers say more than the last token's own embedding."""
    model.model.shared.weight.mul_(6)
    for layer in model.model.decoder.layers:
        layer.fc1.weight.mul_(2)
        layer.fc2.weight.mul_(30)
        layer.encoder_attn.out_proj.weight.mul_(0.5)


def rows_for(config, rng):
    target_size = config.vocab_size
    if not config.share_encoder_decoder_embeddings:
        target_size = config.decoder_vocab_size
    return seq2seq.rows_for(config, rng, target_size=target_size)


@pytest.mark.peers
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_logits_equal_hugging_face(settings, rng, tmp_path):
    config = config_of(**settings)
    peer = peers.make("MarianMTModel", config, tmp_path, change=biased)
    model = models.from_huggingface(tmp_path)
    assert isinstance(model, Transformer)
    found, expected = logits_of_both(model, peer, *rows_for(config, rng))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.peers
def test_half_precision_is_close_to_hugging_face(rng, tmp_path):
    config = config_of()
    peer = peers.make("MarianMTModel", config, tmp_path, dtype="bfloat16")
    model = Transformer.from_huggingface(tmp_path, dtype="bfloat16")
    found, expected = logits_of_both(model, peer, *rows_for(config, rng))
    assert peers.relative_error(found, expected) < 2e-2


@pytest.mark.peers
def test_texts_equal_hugging_face(rng, tmp_path):
    sizes = {"vocab_size": 31, "d_model": 16, "eos_token_id": None}
    config = config_of(
        **{**SETTINGS["published"], **sizes, "forced_eos_token_id": 6}
    )
    peer = peers.make("MarianMTModel", config, tmp_path, change=vivid)
    model = Transformer.from_huggingface(tmp_path)
    source, _ = rows_for(config, rng)
    for num_beams in (1, 3):
        found, expected, end_id = texts_of_both(
            model, peer, source, start_id=14, num_beams=num_beams
        )
        assert found == expected
        check_varied(expected)
        assert {answer[-1] for answer in expected} == {end_id, 6}


def test_one_embedding_or_two(tmp_path):
    tensors = folders.write(tmp_path, folders.marian)
    model = Transformer.from_huggingface(tmp_path)
    config = model.get_config()
    assert config["vocabulary_size"] == 11
    assert config["pad_id"] == 10
    assert config["pad_starts"]
    np.testing.assert_array_equal(
        model.target_embedding.embeddings, tensors["model.shared.weight"]
    )
    tensors = folders.write(tmp_path, lambda: folders.marian(shared=False))
    model = Transformer.from_huggingface(tmp_path)
    for side, stack in (("source", "encoder"), ("target", "decoder")):
        np.testing.assert_array_equal(
            getattr(model, f"{side}_embedding").embeddings,
            tensors[f"model.{stack}.embed_tokens.weight"],
        )


def test_logits_have_a_matrix_of_their_own_where_the_file_has_one(tmp_path):
    more = {"lm_head.weight": (11, folders.UNITS)}
    tensors = folders.write(tmp_path, folders.marian, more=more)
    model = Transformer.from_huggingface(tmp_path)
    np.testing.assert_array_equal(
        model.project.kernel, tensors["lm_head.weight"].T
    )
    one = {**tensors, "lm_head.weight": tensors["model.shared.weight"]}
    save_file(one, tmp_path / "model.safetensors")
    assert Transformer.from_huggingface(tmp_path).project is None


def test_the_logits_bias_is_read_if_it_says_something(tmp_path):
    more = {"final_logits_bias": (1, 11)}
    tensors = folders.write(tmp_path, folders.marian, more=more)
    model = Transformer.from_huggingface(tmp_path)
    np.testing.assert_array_equal(
        model.logits_bias.bias, tensors["final_logits_bias"][0]
    )
    none = {**tensors, "final_logits_bias": np.zeros((1, 11), "float32")}
    save_file(none, tmp_path / "model.safetensors")
    assert Transformer.from_huggingface(tmp_path).logits_bias is None


def test_tables_of_sines_are_left_out_and_others_refused(tmp_path):
    angles = np.arange(9)[:, None] / 10000 ** (np.arange(3) / 3)
    sines = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    name = "model.encoder.embed_positions.weight"
    tensors = folders.write(tmp_path, folders.marian)
    path = tmp_path / "model.safetensors"
    save_file({**tensors, name: sines.astype("float32")}, path)
    Transformer.from_huggingface(tmp_path)
    save_file({**tensors, name: sines.astype("float32")[::-1].copy()}, path)
    with pytest.raises(ValueError, match=r"encoder.embed_positions.* not Mari"):
        Transformer.from_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation_function": "mish9"}, "activation_function='mish9'"),
        ({"normalize_before": True}, "normalize_before=True"),
        ({"normalize_embedding": True}, "normalize_embedding=True"),
        ({"add_final_layer_norm": True}, "add_final_layer_norm=True"),
        (
            {"static_position_embeddings": False},
            "static_position_embeddings=False",
        ),
        (
            {"encoder_attention_heads": 3},
            "encoder_attention_heads=3 and decoder_attention_heads=2",
        ),
        ({"d_model": None}, "config.json has no field 'd_model'"),
        ({"vocab_size": 12}, "'shared.weight' .* does not fit"),
        ({"tie_word_embeddings": False}, "no tensor 'lm_head.weight'"),
        (
            {"share_encoder_decoder_embeddings": False},
            "no tensor 'decoder.embed_tokens.weight'",
        ),
        ({"forced_eos_token_id": [2, 3]}, r"forced_eos_token_id=\[2, 3\]"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    folders.write(tmp_path, folders.marian, settings=settings)
    with pytest.raises(ValueError, match=message):
        Transformer.from_huggingface(tmp_path)


def test_missing_and_extra_tensors_are_named(tmp_path):
    name = "decoder.layers.1.encoder_attn.q_proj.bias"
    folders.write(tmp_path, folders.marian, drop=[name])
    with pytest.raises(ValueError, match=f"holds no tensor '{name}'"):
        Transformer.from_huggingface(tmp_path)
    more = {"model.decoder.layernorm_embedding.weight": (6,)}
    folders.write(tmp_path, folders.marian, more=more)
    with pytest.raises(ValueError, match=r"no place for: .*layernorm_emb"):
        Transformer.from_huggingface(tmp_path)
