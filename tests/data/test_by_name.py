import pytest

from keras_attn.data import by_name
from keras_attn.data.by_name import load
from tests.data.source_files import tfds_builders


def test_a_name_of_tfds_goes_there_with_its_options(tmp_path):
    tfds_builders()
    (tmp_path / "pairs.tsv").write_text("um\tone\ndois\ttwo\n")
    examples = load(
        "tfds:local_pairs",
        split="train[:1]",
        data_dir=tmp_path / "data",
        manual_dir=tmp_path,
    )
    (row,) = examples.as_numpy_iterator()
    assert row in (
        {"source": b"um", "target": b"one"},
        {"source": b"dois", "target": b"two"},
    )


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("digits", {"image", "label"}),
        ("digit_scenes", {"image", "caption"}),
        ("emoji", {"source", "target"}),
        ("phrases", {"source", "target"}),
        ("scene_questions", {"image", "question", "answer"}),
    ],
)
def test_built_in_data_needs_only_its_name(name, features):
    options = {
        "digit_scenes": {"num_scenes": 3},
        "phrases": {"num_examples": 3},
        "scene_questions": {"num_questions": 3},
    }.get(name, {})
    examples = load(name, **options)
    assert features <= set(examples.element_spec)
    assert len(list(examples.take(2))) == 2


def test_split_and_options_reach_the_source(monkeypatch):
    calls = []
    monkeypatch.setitem(
        by_name.BUILT_IN, "digits", lambda **given: calls.append(given)
    )
    load("digits", split="test", scale=3)
    assert calls == [{"split": "test", "scale": 3}]


@pytest.mark.parametrize("name", ["fashion_mnist", "", "TFDS:mnist"])
def test_an_unknown_name_gets_the_list(name):
    match = "digit_scenes, digits, emoji, phrases, scene_questions, and tfds:"
    with pytest.raises(ValueError, match=match):
        load(name)
