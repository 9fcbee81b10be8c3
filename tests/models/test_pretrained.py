import keras
import pytest

from keras_attn import models
from tests.models import folders


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        (folders.bert, models.BERT),
        (folders.roberta, models.BERT),
        (folders.distilbert, models.BERT),
        (folders.gpt2, models.GPT),
        (folders.bart, models.Transformer),
        (folders.vit, models.ViT),
        (folders.vit_gpt2, models.TransformerCaptioner),
    ],
    ids=["bert", "roberta", "distilbert", "gpt2", "bart", "vit", "captioner"],
)
def test_the_class_is_found(kind, cls, tmp_path):
    folders.write(tmp_path, kind)
    model = models.from_huggingface(tmp_path, dtype="bfloat16")
    assert type(model) is cls
    assert {x.dtype for x in model.weights} == {"bfloat16"}


@pytest.mark.parametrize(
    ("name", "classes", "head"),
    [
        ("BertModel", 3, None),
        ("BertForPreTraining", 3, "pretraining"),
        ("BertForMaskedLM", 3, "masked_lm"),
        ("BertForSequenceClassification", 3, "classification"),
        ("BertForSequenceClassification", 1, "regression"),
        ("BertForTokenClassification", 3, "token_classification"),
    ],
)
def test_the_head_is_found(name, classes, head, tmp_path):
    units = folders.UNITS
    folders.write(
        tmp_path,
        folders.bert,
        settings={"architectures": [name, "Other"]},
        more={
            "classifier.weight": (classes, units),
            "classifier.bias": (classes,),
        },
    )
    assert models.from_huggingface(tmp_path).config["head"] == head
    other = models.from_huggingface(tmp_path, head="next_sentence")
    assert other.config["head"] == "next_sentence"


def test_what_is_not_known_is_named(tmp_path):
    folders.write(tmp_path, folders.gpt2, settings={"model_type": "mamba"})
    with pytest.raises(ValueError, match=r"'mamba'; supported are \['bart'"):
        models.from_huggingface(tmp_path)
    name = {"architectures": ["BertForMultipleChoice"]}
    folders.write(tmp_path, folders.bert, settings=name)
    with pytest.raises(ValueError, match=r"architectures=.*MultipleChoice"):
        models.from_huggingface(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"config.json"):
        models.from_huggingface(tmp_path)


def test_a_class_reads_only_its_own_families(tmp_path):
    folders.write(tmp_path, folders.gpt2)
    with pytest.raises(ValueError, match="model_type='gpt2'; ViT reads"):
        models.ViT.from_huggingface(tmp_path)
    with pytest.raises(ValueError, match=r"RNNLanguageModel reads \[\]"):
        models.RNNLanguageModel.from_huggingface(tmp_path)


def test_a_derived_class_reads_as_its_model_does(tmp_path):
    @keras.saving.register_keras_serializable(package="tests")
    class Mine(models.GPT):
        pass

    folders.write(tmp_path, folders.gpt2)
    assert type(Mine.from_huggingface(tmp_path)) is Mine
    assert type(models.from_huggingface(tmp_path)) is models.GPT
