"""What the README shows is what happens."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_its_programs_print_what_it_says(capsys, monkeypatch, tmp_path):
    programs = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    promised = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    assert programs and len(programs) == len(promised)
    names = {}
    monkeypatch.chdir(tmp_path)  # one of them writes files
    for program, text in zip(programs, promised, strict=True):
        exec(program, names)
        printed = capsys.readouterr().out.splitlines()
        for line, expected in zip(printed, text.splitlines(), strict=True):
            # A later Keras may behave better; our own lines must be true.
            if not line.startswith("keras "):
                assert line == expected


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
