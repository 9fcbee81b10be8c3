"""What the README shows is what happens."""

import pathlib
import re

import pytest

from keras_attn import data

ROOT = pathlib.Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
OWN_FILES = re.search(
    r"^## Your own parallel files\n.*?(?=^## )",
    README,
    re.DOTALL | re.MULTILINE,
)[0]


def programs(text):
    """The programs of a text, each with what it is said to print."""
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    promised = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    return list(zip(found, promised, strict=True))


def test_its_programs_print_what_it_says(capsys, monkeypatch, tmp_path):
    names = {}
    monkeypatch.chdir(tmp_path)  # one of them writes files
    shown = programs(README.replace(OWN_FILES, ""))
    assert shown
    for program, text in shown:
        exec(program, names)
        printed = capsys.readouterr().out.splitlines()
        for line, expected in zip(printed, text.splitlines(), strict=True):
            # A later Keras may behave better; our own lines must be true.
            if not line.startswith("keras "):
                assert line == expected


def write_pairs(name, number, seed):
    """Two parallel files of sentences that end with a full stop."""
    pairs = data.phrases(num_examples=number, seed=seed)
    for side, language in (("source", "en"), ("target", "fr")):
        lines = [x[side].decode() for x in pairs.as_numpy_iterator()]
        path = pathlib.Path(f"{name}.{language}")
        path.write_text("".join(f"{line}.\n" for line in lines))


@pytest.mark.slow
def test_own_parallel_files_make_a_translator(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write_pairs("train", 1000, seed=0)
    write_pairs("held_out", 64, seed=1)
    ((program, text),) = programs(OWN_FILES)
    assert len(program.splitlines()) <= 60
    exec(program, {})
    *_, bleu, served = capsys.readouterr().out.splitlines()
    promised = [float(x.split()[2]) for x in (bleu, text.splitlines()[0])]
    assert promised[0] > promised[1] - 10
    assert served == text.splitlines()[1] == "True"
    png = pathlib.Path("alignment.png").read_bytes()
    assert png.startswith(b"\x89PNG")


def test_its_tables_list_every_layer_and_modifier():
    import keras_attn

    rows = set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE))
    public = {
        name
        for room in (keras_attn.layers, keras_attn.modifiers)
        for name in vars(room)
        if name[0].isupper()
    }
    assert rows == public - {"Modifier"}


def hub_tables():
    """The rows of the two tables of what Hugging Face folders may hold."""
    section = re.search(
        r"^## From Hugging Face to TF Serving\n(.*?)(?=^## )",
        README,
        re.DOTALL | re.MULTILINE,
    )[1]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [
        [
            [cell.strip() for cell in row.strip("|").split("|")]
            for row in table.splitlines()[2:]
        ]
        for table in tables
    ]


def test_its_table_lists_every_family_of_checkpoints():
    from keras_attn.models.pretrained import families_by_type

    families, _ = hub_tables()
    found = {
        kind: cls.strip("`")
        for kinds, cls, *_ in families
        for kind in kinds.split(", ")
    }
    ours = {
        kind: cls.__name__
        for kind, cls in families_by_type().items()
        if cls.__module__.startswith("keras_attn.")
    }
    assert found == ours


def test_its_table_lists_every_kind_of_tokenizer():
    from keras_attn.text.huggingface import folder

    _, tokenizers = hub_tables()
    assert {row[0].split(",")[0] for row in tokenizers} == {*folder._READERS}
