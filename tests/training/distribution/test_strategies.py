import json

import pytest
import tensorflow as tf

from keras_attn.training.distribution import strategies
from keras_attn.training.distribution.strategies import strategy

TWO = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker"}}


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)


def test_one_device_needs_no_strategy():
    for name in ("auto", "cpu"):
        assert strategy(name) is tf.distribute.get_strategy()


def test_an_unknown_name_gets_the_list():
    with pytest.raises(ValueError, match=r"'multi_worker', 'tpu'.*'gpus'"):
        strategy("gpus")
    with pytest.raises(ValueError, match="cpu:0"):
        strategy("cpu:0")


def test_mirrored_says_that_there_is_one_device():
    with pytest.raises(RuntimeError, match="no GPU and one CPU"):
        strategy("mirrored")


def test_multi_worker_says_what_to_put_into_tf_config(monkeypatch):
    with pytest.raises(RuntimeError, match=r'"worker": \["host1:12345"'):
        strategy("multi_worker")
    monkeypatch.setenv("TF_CONFIG", "two machines")
    for name in ("multi_worker", "auto"):
        with pytest.raises(RuntimeError, match=r"JSON.*'two machines'"):
            strategy(name)


def test_a_tpu_that_is_not_there_is_an_error_that_says_what_to_install():
    with pytest.raises(RuntimeError, match=r"of this machine.*tensorflow-tpu"):
        strategy("tpu")


def test_auto_takes_the_workers_of_tf_config(monkeypatch):
    made = []
    monkeypatch.setattr(
        tf.distribute, "MultiWorkerMirroredStrategy", lambda: made.append(1)
    )
    monkeypatch.setenv("TF_CONFIG", json.dumps(TWO))
    strategy("auto")
    assert made == [1]
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1"]}})
    )
    strategy("auto")  # one worker alone is one device
    assert made == [1]


def test_auto_takes_a_tpu_first_then_several_gpus(monkeypatch):
    here = {"TPU": ["one"], "GPU": ["one", "two"], "CPU": ["one"]}
    monkeypatch.setattr(
        tf.config, "list_physical_devices", lambda kind=None: here[kind]
    )
    monkeypatch.setattr(strategies, "_tpu", lambda address: "tpu" + address)
    monkeypatch.setattr(tf.distribute, "MirroredStrategy", lambda: "mirrored")
    assert strategy("auto") == "tpu"
    here["TPU"] = []
    assert strategy("auto") == strategy("mirrored") == "mirrored"
    here["GPU"] = ["one"]
    assert strategy("auto") is tf.distribute.get_strategy()
