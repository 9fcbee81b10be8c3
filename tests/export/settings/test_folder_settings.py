import json

import pytest

from keras_attn import decoding
from keras_attn import models
from keras_attn.export.settings import folder_settings
from keras_attn.text import WordTokenizer
from keras_attn.text.special_tokens import DEFAULT


def write(folder, file="config.json", **fields):
    (folder / file).write_text(json.dumps(fields))


def test_classes_have_the_names_that_transformers_gives(tmp_path):
    write(tmp_path, id2label={"1": "fine", "0": "bad"})
    assert folder_settings.labels_of(tmp_path, 2) == ["bad", "fine"]
    with pytest.raises(ValueError, match=r"config.json has an id2label.* 3 of"):
        folder_settings.labels_of(tmp_path, 3)
    # It writes none where there are two without names.
    write(tmp_path)
    assert folder_settings.labels_of(tmp_path, 2) == ["LABEL_0", "LABEL_1"]


def test_classes_are_named_in_the_order_of_their_numbers(tmp_path):
    names = {str(number): f"name {number}" for number in reversed(range(12))}
    write(tmp_path, id2label=names)
    expected = [f"name {number}" for number in range(12)]
    assert folder_settings.labels_of(tmp_path, 12) == expected


@pytest.mark.parametrize(
    "names",
    [{"0": "a", "2": "b"}, {"one": "a", "1": "b"}, ["a", "b"], 3, "ab"],
)
def test_names_without_numbers_are_refused(names, tmp_path):
    write(tmp_path, id2label=names)
    with pytest.raises(ValueError, match=r"config.json has an id2label"):
        folder_settings.labels_of(tmp_path, 2)


@pytest.fixture
def gpt(tmp_path, monkeypatch):
    """A folder whose search is by beams; what the search says is fixed."""
    letters = [*DEFAULT, "a", "b"]
    write(tmp_path, model_type="gpt2", vocab_size=len(letters))
    found = {"search": "beam", "width": 3, "max_length": 9, "end_id": 4}
    monkeypatch.setattr(
        decoding, "search_settings", lambda *_: dict(found), raising=False
    )
    monkeypatch.setattr(
        folder_settings.Tokenizer,
        "from_huggingface",
        lambda folder: WordTokenizer(letters),
    )
    return tmp_path


def test_a_search_is_the_folders_unless_another_is_chosen(gpt):
    found = folder_settings.read(gpt, models.GPT, {})
    assert isinstance(found.pop("tokenizer"), WordTokenizer)
    assert found == {
        "search": "beam",
        "width": 3,
        "max_length": 9,
        "end_id": 4,
    }
    given = {"search": "greedy", "max_length": 5}
    found = folder_settings.read(gpt, models.GPT, given)
    del found["tokenizer"]
    assert found == {"search": "greedy", "max_length": 5, "end_id": 4}


def test_what_a_search_cannot_do_is_named_with_its_file(gpt, monkeypatch):
    def refuse(generation, config):
        value = generation["penalty_alpha"]
        raise ValueError(f"generation_config.json has penalty_alpha={value}")

    write(gpt, "generation_config.json", penalty_alpha=0.5)
    monkeypatch.setattr(decoding, "search_settings", refuse)
    with pytest.raises(ValueError, match=r"/generation_config.json has pen"):
        folder_settings.read(gpt, models.GPT, {})


def test_a_tokenizer_with_more_ids_than_the_model_is_named(gpt):
    for config in ({"vocab_size": 6}, {"decoder": {"vocab_size": 6}}):
        write(gpt, **config)
        with pytest.raises(
            ValueError, match=r"config.json has vocab_size=6.*7"
        ):
            folder_settings.read(gpt, models.GPT, {})


def test_sources_are_as_long_as_the_positions_that_are_told(gpt):
    for config, length in (
        ({"max_position_embeddings": 40}, 40),
        ({"n_positions": 30}, 30),
        ({}, 512),
    ):
        write(gpt, vocab_size=7, **config)
        found = folder_settings.read(gpt, models.Transformer, {})
        assert found["source_length"] == length
