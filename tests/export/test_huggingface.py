"""Hand-made folders: what is taken, and what is refused by which words."""

import functools
import json

import numpy as np
import pytest

from keras_attn import export
from keras_attn.export.command_line import main
from keras_attn.text.special_tokens import DEFAULT
from tests.models import folders

WORDS = ["the", "cat", "sat", "##s", "on"]


def bert(folder, **options):
    """A BERT of 11 ids with its tokenizer, of 10."""
    folders.write(folder, folders.bert, **options)
    (folder / "vocab.txt").write_text("\n".join([*DEFAULT, *WORDS]))
    return folder


def classes(number):
    """What makes it a classifier."""
    units = folders.UNITS
    return {
        "classifier.weight": (number, units),
        "classifier.bias": (number,),
    }


CLASSIFIER = {"architectures": ["BertForSequenceClassification"]}


@pytest.fixture
def folder(tmp_path):
    """A folder that can be exported, as one test shows."""
    return bert(
        tmp_path / "bert",
        settings={**CLASSIFIER, "id2label": {"0": "bad", "1": "fine"}},
        more=classes(2),
    )


def test_a_classifier_is_served_with_the_names_of_its_classes(
    folder, tmp_path, capsys
):
    destination = tmp_path / "models" / "judge"
    arguments = [str(folder), str(destination)]
    options = ["--version", "7", "--max_length", "6"]
    assert main(["huggingface", *arguments, *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{destination / '7'} answers as recorded")
    assert "classify_pairs  text, text_pair  label, scores" in out
    assert f"keras_attn.export serve {destination}\n" in out
    line = out.splitlines()[-1]
    assert "http://localhost:8501/v1/models/judge:predict" in line
    body = json.loads(line[line.index("{") : line.rindex("}") + 1])
    text = np.array([x.encode() for x in body["inputs"]["text"]], object)
    loaded = export.LoadedModel(destination / "7")
    answer = loaded.run("classify", {"text": text})
    loaded.close()
    assert answer["label"][0] in (b"bad", b"fine")


def test_what_a_caller_chooses_wins(folder, tmp_path):
    # Of the names in the folder none is asked for.
    rewrite(folder / "config.json", id2label={"0": "one", "5": "six"})
    path = export.export_huggingface(
        folder,
        tmp_path / "models",
        labels=["no", "yes"],
        dtype="bfloat16",
        warmup=False,
        metadata={"description": "Mine."},
    )
    assert path == tmp_path / "models" / "1"
    assert "Mine." in (path / "assets.extra" / "README.md").read_text()
    examples = json.loads((path / "assets.extra/examples.json").read_text())
    labels = {x for each in examples for x in each["outputs"].get("label", ())}
    assert labels <= {"no", "yes", ""} and labels > {""}


def rewrite(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def truncate(path):
    path.write_bytes(path.read_bytes()[:-5])


def only_pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def write_tokenizer(folder, type, **parts):
    words = [*DEFAULT, *WORDS]
    vocabulary = {word: number for number, word in enumerate(words)}
    model = {"type": type, "vocab": vocabulary, "unk_token": "[UNK]"}
    whole = {"model": model, "added_tokens": [], **parts}
    (folder / "tokenizer.json").write_text(json.dumps(whole))


def llama(folder, generation=None, **settings):
    """Another model in the same folder."""
    kind = functools.partial(folders.llama, **settings)
    folders.write(folder, kind)
    if generation:
        path = folder / "generation_config.json"
        path.write_text(json.dumps(generation))


WEIGHTS = "bert.encoder.layer.1.output.dense"
# What is done to the folder, and the words that the sentence must have.
BAD = {
    "no config": (
        lambda folder: (folder / "config.json").unlink(),
        ["config.json"],
    ),
    "broken config": (
        lambda folder: truncate(folder / "config.json"),
        ["config.json", "not valid JSON"],
    ),
    "an unknown type": (
        lambda folder: rewrite(folder / "config.json", model_type="mixtral"),
        ["config.json", "model_type='mixtral'", "gpt2"],
    ),
    "an unknown head": (
        lambda folder: rewrite(
            folder / "config.json", architectures=["BertForMultipleChoice"]
        ),
        ["config.json", "architectures", "BertForMultipleChoice"],
    ),
    "what the class cannot express": (
        lambda folder: rewrite(
            folder / "config.json", position_embedding_type="relative_key"
        ),
        ["config.json", "position_embedding_type='relative_key'"],
    ),
    "other classes": (
        lambda folder: rewrite(folder / "config.json", id2label={"0": "a"}),
        ["config.json", "id2label"],
    ),
    "missing weights": (
        lambda folder: bert(
            folder,
            settings=CLASSIFIER,
            more=classes(2),
            drop=[f"{WEIGHTS}.bias"],
        ),
        [f"{WEIGHTS[5:]}.bias"],
    ),
    "extra weights": (
        lambda folder: bert(
            folder,
            settings=CLASSIFIER,
            more=classes(2) | {"bert.experts.0.weight": (2, 3)},
        ),
        ["no place for", "bert.experts.0.weight"],
    ),
    "another shape": (
        lambda folder: bert(
            folder,
            settings=CLASSIFIER,
            more=classes(2) | {f"{WEIGHTS}.weight": (6, 11)},
        ),
        [f"{WEIGHTS[5:]}.weight", "config.json", "(10, 6)"],
    ),
    "a truncated file": (
        lambda folder: truncate(folder / "model.safetensors"),
        ["model.safetensors cannot be read", "damaged"],
    ),
    "pickled weights": (
        only_pickled,
        ["pytorch_model.bin", "python -c", "save_pretrained"],
    ),
    "a larger tokenizer": (
        lambda folder: (folder / "vocab.txt").write_text(
            "\n".join([*DEFAULT, *WORDS, "more", "words"])
        ),
        ["config.json", "vocab_size=11", "12"],
    ),
    "no tokenizer": (
        lambda folder: (folder / "vocab.txt").unlink(),
        ["holds no tokenizer", "tokenizer.json"],
    ),
    "an unknown rope scaling": (
        lambda folder: llama(
            folder, rope_scaling={"rope_type": "yarn", "factor": 2.0}
        ),
        ["config.json", "rope_scaling", "rope_type='yarn'"],
    ),
    "experts": (
        lambda folder: folders.write(
            folder,
            folders.llama,
            more={"model.layers.0.mlp.experts.0.w1.weight": (3, 2)},
        ),
        ["no place for", "model.layers.0.mlp.experts.0.w1.weight"],
    ),
    "an unknown search": (
        lambda folder: llama(folder, {"penalty_alpha": 0.6, "top_k": 4}),
        ["generation_config.json", "penalty_alpha=0.6"],
    ),
    "an unknown normaliser": (
        lambda folder: write_tokenizer(
            folder, type="WordPiece", normalizer={"type": "NFKC"}
        ),
        ["tokenizer.json", "normalizer", "'NFKC'"],
    ),
    "an unknown tokenizer": (
        lambda folder: write_tokenizer(folder, type="Morse"),
        ["tokenizer.json", "'Morse'"],
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    folder, kind, tmp_path, capsys
):
    spoil, words = BAD[kind]
    spoil(folder)
    destination = tmp_path / "models" / "bad"
    assert main(["huggingface", str(folder), str(destination)]) == 1
    out, error = capsys.readouterr()
    assert not out
    assert error.startswith("error: ") and error.count("\n") == 1
    assert str(folder) in error
    for word in words:
        assert word in error
    assert not destination.parent.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path, capsys):
    assert main(["huggingface", str(tmp_path / "no"), str(tmp_path)]) == 1
    assert f"no folder {tmp_path / 'no'}" in capsys.readouterr().err


def test_what_a_model_does_not_take_is_refused(folder, tmp_path, capsys):
    arguments = ["huggingface", str(folder), str(tmp_path / "models")]
    assert main([*arguments, "--width", "3"]) == 1
    assert "Received: width" in capsys.readouterr().err
    assert not (tmp_path / "models").exists()
