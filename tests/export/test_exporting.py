import json
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_attn.export.bundle import warmup
from keras_attn.export.bundle.recorded_examples import read_examples
from keras_attn.export.bundle.warmup import read_warmup
from keras_attn.export.exporting import export_model
from keras_attn.export.verify import verification
from tests.export import writers


def dense():
    """A model that is quick to export."""
    return keras.Sequential(
        [keras.Input((2,), name="x"), keras.layers.Dense(3)], name="dense"
    )


def test_a_version_is_a_whole_servable(version):
    assert version.name == "1"
    assert [path.name for path in version.parent.iterdir()] == ["1"]
    files = {str(p.relative_to(version)) for p in version.rglob("*")}
    assert files >= {
        "saved_model.pb",
        "variables/variables.index",
        "assets/vocabulary.txt",
        "assets.extra/examples.json",
        "assets.extra/tf_serving_warmup_requests",
        "assets.extra/README.md",
    }


def test_every_signature_has_recorded_answers(version):
    examples = read_examples(version)
    assert {name for name, _, _ in examples} == {
        "serving_default",
        "translate",
        "translate_with_options",
        "score",
        "attention",
        "embed",
    }
    name, inputs, outputs = examples[0]
    assert name == "serving_default"
    assert inputs["text"].tolist() == [b"h g f"]
    assert outputs["valid"].tolist() == [True]
    main = [x for x in examples if x[0] == "serving_default"]
    verb = [x for x in examples if x[0] == "translate"]
    for (_, *one), (_, *other) in zip(main, verb, strict=True):
        assert repr(one) == repr(other), "the verb is the main signature"


def test_the_server_is_warmed_up_with_all_of_them(version):
    requests = read_warmup(version)
    examples = read_examples(version)
    assert [name for name, _ in requests] == [name for name, *_ in examples]
    for (_, inputs), (_, wanted, _) in zip(requests, examples, strict=True):
        for key, array in wanted.items():
            np.testing.assert_array_equal(inputs[key], array)


def test_the_card_tells_what_it_was_told(version):
    card = (version / "assets.extra" / "README.md").read_text()
    assert card.startswith("# toy\n\nWrites letters.")
    assert "| BLEU | 3.5 |" in card
    assert "/v1/models/toy:predict" in card
    assert "h g f" in card


@pytest.mark.slow
def test_tensorflows_own_tool_shows_and_runs_it(version):
    tool = pathlib.Path(sys.executable).with_name("saved_model_cli")
    command = [tool, "show", "--dir", version, "--all"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "signature_def['translate_with_options']" in shown.stdout
    assert "inputs['text'] tensor_info" in shown.stdout
    command = [
        *(tool, "run", "--dir", version, "--tag_set", "serve"),
        *("--signature_def", "translate", "--input_exprs", "text=[b'h g f']"),
    ]
    answered = subprocess.run(
        command, capture_output=True, text=True, check=True
    )
    wanted = read_examples(version)[0][2]["text"][0]
    assert f"Result for output key text:\n[{wanted}]" in answered.stdout


def test_versions_count_on_and_are_never_overwritten(tmp_path):
    paths = [
        export_model(dense(), tmp_path, verify=False, **options)
        for options in ({}, {"version": 7}, {})
    ]
    assert [path.name for path in paths] == ["1", "7", "8"]
    before = (tmp_path / "7" / "saved_model.pb").read_bytes()
    with pytest.raises(FileExistsError, match="has a version 7 already"):
        export_model(dense(), tmp_path, version=7)
    assert (tmp_path / "7" / "saved_model.pb").read_bytes() == before


def test_it_can_do_without_warm_up_requests(tmp_path, monkeypatch):
    def refuse():
        raise ImportError("pass `warmup=False`")

    monkeypatch.setattr(warmup, "require_protos", refuse)
    with pytest.raises(ImportError, match="warmup=False"):
        export_model(dense(), tmp_path)
    assert not any(tmp_path.iterdir())
    path = export_model(dense(), tmp_path, warmup=False, verify=False)
    kept = {file.name for file in (path / "assets.extra").iterdir()}
    assert kept == {"README.md", "examples.json"}


def test_requests_may_be_given_in_the_servers_own_form(tmp_path):
    request = {"signature": "predict", "inputs": {"x": [[1.0, 2.0]]}}
    path = export_model(dense(), tmp_path, warmup=[request], verify=False)
    text = (path / "assets.extra" / "examples.json").read_text()
    records = [
        record
        for record in json.loads(text)
        if record["signature"] == "predict"
    ]
    assert records[0]["inputs"] == request["inputs"]


def test_what_does_not_verify_never_appears(tmp_path, monkeypatch):
    seen = []

    def refuse(path, **options):
        seen.append(sorted(file.name for file in path.iterdir()))
        raise ValueError("does not answer as recorded")

    monkeypatch.setattr(verification, "verify", refuse)
    with pytest.raises(ValueError, match="as recorded"):
        export_model(dense(), tmp_path)
    assert "saved_model.pb" in seen[0]
    assert "assets.extra" in seen[0]
    assert not any(tmp_path.iterdir())


def test_what_cannot_be_served_leaves_nothing(tmp_path):
    folder = tmp_path / "models"
    unbuilt = keras.Sequential([keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="has no weights yet"):
        export_model(unbuilt, folder)
    with pytest.raises(ValueError, match="knows 14 ids in its target"):
        export_model(writers.gpt(), folder, tokenizer=writers.LARGER)
    with pytest.raises(ValueError, match="exported with the tokenizer"):
        export_model(writers.gpt(), folder)
    with pytest.raises(ValueError, match="is beyond the positions"):
        export_model(
            writers.gpt(), folder, tokenizer=writers.TARGET, max_length=12
        )
    with pytest.raises(ValueError, match="Received: width"):
        export_model(dense(), folder, width=3)
    assert not folder.exists()
