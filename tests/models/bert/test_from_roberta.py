import numpy as np
import pytest

from keras_attn import models
from keras_attn.models.bert.model import BERT
from tests.models import folders
from tests.models import peers
from tests.models.bert import kin

KINDS = {"roberta": "Roberta", "xlm-roberta": "XLMRoberta"}


def config_of(kind, **settings):
    return getattr(peers.transformers(), f"{KINDS[kind]}Config")(
        **{
            "vocab_size": 13,
            "hidden_size": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 10,
            "max_position_embeddings": 10,
            "type_vocab_size": 1,
            "num_labels": 3,
            "layer_norm_eps": 1e-3,
            **settings,
        }
    )


@pytest.mark.peers
@pytest.mark.parametrize("task", kin.HEADS)
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_equal_hugging_face(kind, task, rng, tmp_path):
    settings = {"num_labels": 2} if task == "ForQuestionAnswering" else {}
    # An odd id of padding, which is where positions begin.
    settings["pad_token_id"] = 1 if kind == "roberta" else 2
    model = kin.compare(
        KINDS[kind] + task,
        config_of(kind, **settings),
        tmp_path,
        pad_id=settings["pad_token_id"],
        rng=rng,
    )
    assert model.config["head"] == kin.HEADS[task][0]
    assert model.config["max_length"] == 9 - settings["pad_token_id"]
    assert model.config["num_segments"] == 1


@pytest.mark.peers
def test_other_settings_and_bfloat16_equal_hugging_face(rng, tmp_path):
    config = config_of(
        "roberta",
        num_labels=1,
        hidden_act="relu",
        type_vocab_size=3,
        num_attention_heads=1,
    )
    name = "RobertaForSequenceClassification"
    model = kin.compare(
        name, config, tmp_path, pad_id=1, rng=rng, dtype="bfloat16"
    )
    assert model.config["head"] == "regression"


@pytest.mark.peers
def test_the_pooler_equals_hugging_face(rng, tmp_path):
    peer = peers.make("RobertaModel", config_of("roberta"), tmp_path)
    tokens = rng.integers(3, 11, size=(2, 5))
    expected = peers.ask(peer, input_ids=tokens)["pooler_output"]
    model = models.from_huggingface(tmp_path)
    outputs = model({"tokens": tokens, "segments": tokens * 0})
    np.testing.assert_allclose(outputs["pooled"], expected, atol=1e-5)


def test_positions_begin_after_the_id_of_padding(tmp_path):
    tensors = folders.write(tmp_path, folders.roberta)
    model = BERT.from_huggingface(tmp_path, head="masked_lm")
    np.testing.assert_array_equal(
        model.encoder.position_embedding.embeddings,
        tensors["roberta.embeddings.position_embeddings.weight"][2:],
    )
    np.testing.assert_array_equal(
        model.get_layer("masked_lm_bias").bias, tensors["lm_head.bias"]
    )
    assert model.config["pad_id"] == 1


def test_a_classifier_brings_its_own_pooler(tmp_path):
    units = folders.UNITS
    more = {
        "classifier.dense.weight": (units, units),
        "classifier.dense.bias": (units,),
        "classifier.out_proj.weight": (4, units),
        "classifier.out_proj.bias": (4,),
    }
    tensors = folders.write(tmp_path, folders.roberta, more=more)
    model = BERT.from_huggingface(tmp_path, head="classification")
    assert model.config["num_classes"] == 4
    np.testing.assert_array_equal(
        model.pooler.bias, tensors["classifier.dense.bias"]
    )


def test_a_folder_of_vectors_may_have_no_pooler(tmp_path):
    folders.write(tmp_path, folders.roberta)
    model = BERT.from_huggingface(tmp_path)
    assert model.config["pooler_activation"] is None
    tuned = BERT.from_huggingface(
        tmp_path, head="classification", num_classes=2
    )
    assert tuned.pooler.kernel.numpy().any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act='relu'; only 'gelu'"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"is_decoder": True}, "is_decoder=True"),
        ({"pad_token_id": 3}, "position_embeddings.* does not fit"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    if "pad_token_id" in settings:
        # One position less than the table has rows for.
        settings = {**settings, "max_position_embeddings": 10}
    folders.write(tmp_path, folders.roberta, settings=settings)
    with pytest.raises(ValueError, match=message):
        BERT.from_huggingface(tmp_path, head="masked_lm")
