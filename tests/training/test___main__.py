import runpy
import sys

import pytest


def test_the_module_is_a_program(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["training", "check", "Nothing:base"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("keras_attn.training", run_name="__main__")
    assert ended.value.code == 1
    assert "Received: 'Nothing:base'" in capsys.readouterr().err
