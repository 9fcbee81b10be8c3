import runpy
import sys

import pytest


def test_the_module_is_a_program(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["export", "inspect", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("keras_attn.export", run_name="__main__")
    assert ended.value.code == 1
    assert "neither a SavedModel nor" in capsys.readouterr().err
