import pathlib

import pytest

from keras_attn.models.huggingface.settings import Settings

PATH = pathlib.Path("folder") / "config.json"


def settings(section="", **config):
    return Settings(PATH, config, section)


def test_messages_name_the_file_and_the_whole_field():
    inner = settings("encoder.", size="big", act=["sin"], on=True)
    for ask, message in (
        (lambda: inner.setting("size"), "encoder.size='big', which should be"),
        (lambda: inner.setting("depth"), "no field 'encoder.depth'"),
        (lambda: inner.activation("act", "gelu"), r"encoder.act=\['sin'\]; s"),
        (lambda: inner.expect(on=False), "encoder.on=True; only False is"),
    ):
        with pytest.raises(ValueError, match=f"config.json has .*{message}"):
            ask()


def test_activations_have_our_names():
    assert settings(act="gelu_new").activation("act", "relu") == "gelu_tanh"
    assert settings().activation("act", "relu") == "relu"
