import numpy as np
import pytest

from keras_attn import models
from keras_attn.models.transformer.model import Transformer
from tests.models import folders
from tests.models import peers
from tests.models.seq2seq import check_varied
from tests.models.seq2seq import logits_of_both
from tests.models.seq2seq import rows_for
from tests.models.seq2seq import texts_of_both

FLAN = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
SETTINGS = {
    "first": {},
    "flan": FLAN,
    "deeper_decoder": {"num_decoder_layers": 3, "d_kv": 4},
    "gated_silu": {"feed_forward_proj": "gated-silu", "num_layers": 1},
    "few_buckets": {
        "relative_attention_num_buckets": 4,
        "relative_attention_max_distance": 5,
        "layer_norm_epsilon": 0.25,
    },
    "another_start": {"decoder_start_token_id": 3, "pad_token_id": 5},
}


def config_of(**settings):
    return peers.transformers().T5Config(
        **{
            "vocab_size": 17,
            "d_model": 8,
            "d_kv": 3,
            "d_ff": 10,
            "num_layers": 2,
            "num_heads": 2,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 9,
            "decoder_start_token_id": 0,
            **settings,
        }
    )


def make(settings, folder, *, vivid=False, **options):
    """A model, whose logits have their own matrix in later versions.

    With `vivid` the sublayers say more than the embedding, which would have
    the last token written again and again.
    """
    config = config_of(**settings)

    def change(model):
        if not config.scale_decoder_outputs:
            matrix = model.lm_head.weight
            model.lm_head.weight = type(matrix)(matrix.flip(0) * 0.5)
        if vivid:
            for stack in (model.encoder, model.decoder):
                for weight in stack.block.parameters():
                    if weight.ndim > 1:
                        weight.mul_(6)

    name = "T5ForConditionalGeneration"
    return config, peers.make(name, config, folder, change=change, **options)


@pytest.mark.peers
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_logits_equal_hugging_face(settings, rng, tmp_path):
    config, peer = make(settings, tmp_path)
    model = models.from_huggingface(tmp_path)
    assert isinstance(model, Transformer)
    rows = rows_for(config, rng)
    for left in (False, True):
        found, expected = logits_of_both(model, peer, *rows, left=left)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.peers
@pytest.mark.parametrize("settings", [{}, FLAN], ids=["first", "flan"])
def test_half_precision_is_close_to_hugging_face(settings, rng, tmp_path):
    config, peer = make(settings, tmp_path, dtype="bfloat16")
    model = Transformer.from_huggingface(tmp_path, dtype="bfloat16")
    found, expected = logits_of_both(model, peer, *rows_for(config, rng))
    assert peers.relative_error(found, expected) < 2e-2


@pytest.mark.peers
@pytest.mark.parametrize("settings", [{}, FLAN], ids=["first", "flan"])
def test_texts_equal_hugging_face(settings, rng, tmp_path):
    sizes = {"vocab_size": 31, "d_model": 16, "eos_token_id": None}
    config, peer = make({**settings, **sizes}, tmp_path, vivid=True)
    model = Transformer.from_huggingface(tmp_path)
    source, _ = rows_for(config, rng)
    for num_beams in (1, 3):
        found, expected, _ = texts_of_both(
            model, peer, source, start_id=0, num_beams=num_beams
        )
        assert found == expected
        check_varied(expected)


def test_weights_are_read_from_their_tensors(tmp_path):
    tensors = folders.write(tmp_path, folders.t5)
    model = Transformer.from_huggingface(tmp_path)
    (bias,) = model.decoder.shared_modifiers
    first = "decoder.block.0.layer.0.SelfAttention"
    np.testing.assert_array_equal(
        bias.table, tensors[f"{first}.relative_attention_bias.weight"]
    )
    query = tensors[f"{first}.q.weight"].T.reshape(6, 2, 5)
    np.testing.assert_allclose(  # which takes the scale of the scores
        model.decoder.blocks[0].self_attention.query_dense.kernel,
        np.sqrt(5) * query,
        rtol=1e-6,
    )
    np.testing.assert_array_equal(
        model.encoder.last_norm.scale,
        tensors["encoder.final_layer_norm.weight"],
    )
    config = model.get_config()
    assert config["pad_id"] == 0
    assert config["pad_starts"]
    assert config["scale_logits"]
    assert config["tie_embeddings"]


@pytest.mark.parametrize(
    ("settings", "scaled"),
    [
        ({}, True),
        ({"tie_word_embeddings": False}, False),
        ({"tie_word_embeddings": True}, True),
        ({"tie_word_embeddings": True, "scale_decoder_outputs": False}, False),
    ],
    ids=["first", "flan", "tied", "flan_written_by_transformers_5"],
)
def test_versions_are_told_apart_by_old_and_new_fields(
    settings, scaled, tmp_path
):
    more = {"lm_head.weight": (11, folders.UNITS)}
    tensors = folders.write(tmp_path, folders.t5, settings=settings, more=more)
    model = Transformer.from_huggingface(tmp_path)
    assert model.get_config()["scale_logits"] == scaled
    np.testing.assert_array_equal(
        model.project.kernel, tensors["lm_head.weight"].T
    )


def test_the_table_that_the_first_files_do_not_use_is_left_out(tmp_path):
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias"
    more = {f"{name}.weight": (8, 2), "encoder.embed_tokens.weight": (11, 6)}
    folders.write(tmp_path, folders.t5, more=more)
    Transformer.from_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"feed_forward_proj": "gated-relu"},
            "config.json has feed_forward_proj='gated-relu'; supported are",
        ),
        ({"dense_act_fn": "gelu"}, "dense_act_fn='gelu'; only 'relu'"),
        ({"is_gated_act": True}, "is_gated_act=True"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder=False"),
        ({"d_kv": None}, "config.json has no field 'd_kv'"),
        ({"d_kv": 4}, "SelfAttention.q.weight' .* does not fit"),
        (
            {"relative_attention_num_buckets": 7},
            "relative_attention_num_buckets=7 and",
        ),
        (
            {"relative_attention_max_distance": 4},
            "relative_attention_max_distance=4; supported",
        ),
        (
            {"relative_attention_num_buckets": 10},
            "relative_attention_bias.weight' .* does not fit",
        ),
        ({"num_layers": "six"}, "num_layers='six'.* should be a number"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    folders.write(tmp_path, folders.t5, settings=settings)
    with pytest.raises(ValueError, match=message):
        Transformer.from_huggingface(tmp_path)


def test_missing_and_extra_tensors_are_named(tmp_path):
    name = "decoder.block.1.layer.2.DenseReluDense.wi.weight"
    folders.write(tmp_path, folders.t5, drop=[name])
    with pytest.raises(ValueError, match=f"holds no tensor '{name}'"):
        Transformer.from_huggingface(tmp_path)
    more = {"decoder.block.1.layer.0.SelfAttention.q.bias": (10,)}
    folders.write(tmp_path, folders.t5, more=more)
    with pytest.raises(ValueError, match=r"no place for: .*SelfAttention.q"):
        Transformer.from_huggingface(tmp_path)
