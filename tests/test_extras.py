import sys

import pytest

from keras_attn.extras import require


def test_an_installed_package_is_returned():
    assert require("json.decoder", extra="text") is sys.modules["json.decoder"]


def test_a_missing_package_gets_the_command_that_installs_it():
    with pytest.raises(ImportError, match=r'pip install "keras_attn\[data\]"'):
        require("no_such_package.part", extra="data")


def test_a_package_that_lacks_its_own_dependency_says_so(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        require("half_installed", extra="data")
