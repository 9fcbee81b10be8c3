import json

import numpy as np
import pytest

from keras_attn import models
from keras_attn.models.huggingface import sentence_folder
from tests.models import folders

OLD = {
    "word_embedding_dimension": 6,
    "pooling_mode_cls_token": False,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_max_tokens": False,
}
NEW = {"embedding_dimension": 6, "pooling_mode": "cls", "include_prompt": True}


def write_json(path, content):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(content))


def write(
    folder,
    *,
    path="",
    types=("Transformer", "Pooling"),
    pooling=OLD,
    text=None,
    tokenizer=None,
    whole=None,
):
    """A folder as sentence-transformers writes it."""
    folder.mkdir(exist_ok=True)
    model = folder / path
    name = {"architectures": ["BertForMaskedLM"]}
    tensors = folders.write(model, folders.bert, settings=name)
    paths = {"Transformer": path}
    modules = [
        {
            "idx": number,
            "name": str(number),
            "path": paths.get(kind, f"{number}_{kind}"),
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, kind in enumerate(types)
    ]
    write_json(folder / "modules.json", modules)
    write_json(folder / "1_Pooling" / "config.json", pooling)
    for content, place in (
        (text, model / "sentence_bert_config.json"),
        (tokenizer, model / "tokenizer_config.json"),
        (whole, folder / "config_sentence_transformers.json"),
    ):
        if content is not None:
            write_json(place, content)
    return tensors


@pytest.mark.parametrize("path", ["", "0_Transformer"])
def test_the_model_is_read_without_a_head(path, tmp_path):
    tensors = write(tmp_path, path=path)
    model = models.from_huggingface(tmp_path)
    assert model.config["head"] is None
    np.testing.assert_array_equal(
        model.embedding.embeddings,
        tensors["bert.embeddings.word_embeddings.weight"],
    )


def test_another_folder_is_left_alone(tmp_path):
    assert not sentence_folder.is_one(tmp_path)
    assert sentence_folder.transformer_folder(tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"pooling": "mean", "normalize": False}),
        (
            {
                "pooling": NEW,
                "types": ["Transformer", "Pooling", "Normalize"],
                "tokenizer": {"model_max_length": 7},
            },
            {"pooling": "first", "normalize": True, "max_length": 7},
        ),
        (
            {
                "path": "0_Transformer",
                "text": {"max_seq_length": 5, "do_lower_case": True},
                "tokenizer": {"model_max_length": 7, "do_lower_case": True},
            },
            {"pooling": "mean", "normalize": False, "max_length": 5},
        ),
        (
            {"tokenizer": {"model_max_length": int(1e30)}},
            {"pooling": "mean", "normalize": False},
        ),
    ],
    ids=["old", "new", "own_folder", "no_limit"],
)
def test_the_settings_of_the_export_are_found(options, expected, tmp_path):
    write(tmp_path, **options)
    assert sentence_folder.settings(tmp_path) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"types": ["Transformer", "Pooling", "Dense"]},
            r"modules.json has modules .*'Dense'\]; supported",
        ),
        ({"types": ["Transformer"]}, r"modules.json .*\['Transformer'\]"),
        (
            {"pooling": {**OLD, "pooling_mode_max_tokens": True}},
            r"1_Pooling.config.json has the pooling .*max_tokens",
        ),
        ({"pooling": {"pooling_mode": "lasttoken"}}, "'lasttoken'"),
        ({"pooling": {}}, r"the pooling \[\]"),
        (
            {"whole": {"default_prompt_name": "q", "prompts": {"q": "Q: "}}},
            "default_prompt_name='q', whose text 'Q: '",
        ),
        (
            {"text": {"do_lower_case": True}, "tokenizer": {}},
            "sentence_bert_config.json has do_lower_case",
        ),
        ({"text": {"transformer_task": "fill-mask"}}, "task='fill-mask'"),
        ({"path": "../out"}, "leads out of its folder"),
    ],
    ids=[
        *("dense", "no_pooling", "two", "last", "none", "prompt", "letters"),
        *("task", "path"),
    ],
)
def test_what_is_not_supported_is_named(options, message, tmp_path):
    write(tmp_path / "model", **options)
    with pytest.raises(ValueError, match=message):
        sentence_folder.settings(tmp_path / "model")


@pytest.mark.parametrize("content", ["{}", "[", '["a"]', '[{"type": 3}]'])
def test_a_damaged_list_is_named(content, tmp_path):
    (tmp_path / "modules.json").write_text(content)
    with pytest.raises(ValueError, match=r"modules.json"):
        sentence_folder.transformer_folder(tmp_path)
