import numpy as np
import pytest

from keras_attn.models.bert.model import BERT
from tests.models import folders
from tests.models import peers
from tests.models.bert import kin


def config_of(**settings):
    return peers.transformers().DistilBertConfig(
        **{
            "vocab_size": 13,
            "dim": 8,
            "n_layers": 2,
            "n_heads": 2,
            "hidden_dim": 10,
            "max_position_embeddings": 9,
            "num_labels": 3,
            **settings,
        }
    )


@pytest.mark.peers
@pytest.mark.parametrize("task", kin.HEADS)
def test_outputs_equal_hugging_face(task, rng, tmp_path):
    labels = 2 if task == "ForQuestionAnswering" else 3
    config = config_of(num_labels=labels, activation="relu")
    model = kin.compare(
        f"DistilBert{task}", config, tmp_path, pad_id=0, rng=rng
    )
    assert model.config["head"] == kin.HEADS[task][0]


@pytest.mark.peers
def test_other_settings_and_bfloat16_equal_hugging_face(rng, tmp_path):
    config = config_of(
        num_labels=1, pad_token_id=2, sinusoidal_pos_embds=True, n_heads=4
    )
    model = kin.compare(
        "DistilBertForSequenceClassification",
        config,
        tmp_path,
        pad_id=2,
        rng=rng,
        dtype="bfloat16",
    )
    assert model.config["head"] == "regression"


def test_there_are_no_segments_and_no_pooler(tmp_path):
    tensors = folders.write(tmp_path, folders.distilbert)
    model = BERT.from_huggingface(tmp_path)
    assert model.pooler is None and model.segment_embedding is None
    np.testing.assert_array_equal(
        model.encoder.blocks[1].feed_forward.hidden_dense.bias,
        tensors["distilbert.transformer.layer.1.ffn.lin1.bias"],
    )


def test_a_classifier_has_a_pooler_with_relu(tmp_path):
    units = folders.UNITS
    more = {
        "pre_classifier.weight": (units, units),
        "pre_classifier.bias": (units,),
        "classifier.weight": (4, units),
        "classifier.bias": (4,),
    }
    tensors = folders.write(tmp_path, folders.distilbert, more=more)
    model = BERT.from_huggingface(tmp_path, head="classification")
    np.testing.assert_array_equal(
        model.pooler.bias, tensors["pre_classifier.bias"]
    )
    assert model.config["pooler_activation"] == "relu"
    assert model.config["num_classes"] == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation": "mish9"}, "activation='mish9'"),
        ({"n_layers": None}, "no field 'n_layers'"),
        ({"n_layers": 1}, "no place for.*layer.1"),
        ({"n_layers": 3}, "no tensor 'transformer.layer.2"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
    ],
    ids=str,
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    folders.write(tmp_path, folders.distilbert, settings=settings)
    with pytest.raises(ValueError, match=message):
        BERT.from_huggingface(tmp_path, head="masked_lm")
