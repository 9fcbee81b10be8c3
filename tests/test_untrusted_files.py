"""A file from elsewhere is data: it must not bring code along."""

import pathlib

import keras
import pytest

import keras_attn

ROOT = pathlib.Path(keras_attn.__file__).parents[1]


def test_a_lambda_in_a_saved_model_is_refused(tmp_path):
    layers = [keras.Input((2,)), keras.layers.Lambda(lambda x: x + 1)]
    keras.Sequential(layers).save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match=r"unsafe|disallowed"):
        keras.models.load_model(tmp_path / "model.keras")


def test_nothing_of_ours_switches_that_off():
    for folder in ("keras_attn", "examples", "export"):
        paths = list((ROOT / folder).rglob("*.py"))
        assert paths
        for path in paths:
            source = path.read_text()
            assert "safe_mode" not in source, path
            assert "enable_unsafe_deserialization" not in source, path
