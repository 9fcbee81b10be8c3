import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.resuming import checkpoint_file
from keras_attn.training.resuming.background import BackgroundWriter
from keras_attn.training.resuming.folder import CheckpointFolder
from keras_attn.training.resuming.position import Position
from keras_attn.training.resuming.saver import Saver
from keras_attn.training.resuming.saver import plain
from tests.training.resuming import runs


@pytest.fixture
def make(tmp_path):
    with BackgroundWriter(str) as writer:
        yield lambda **options: Saver(
            *(runs.make_model(), CheckpointFolder(tmp_path), writer),
            data={"x": 1},
            **options,
        )


def best_step(saver):
    saver.writer.wait()
    header, _ = checkpoint_file.read(saver.folder.path / "best.state")
    return header["position"]["batches"]


@pytest.mark.parametrize(("mode", "best"), [("min", 3), ("max", 2)])
def test_the_best_is_named_by_what_is_monitored(make, mode, best):
    saver = make(monitor="bleu", mode=mode)
    saver.model.stop_training = False
    seen = []
    for step, value in enumerate([5.0, 7.0, 3.0, 4.0], start=1):
        seen.append(value)
        saver.save(Position(batches=step), [], {}, {"bleu": seen})
    assert best_step(saver) == best
    assert saver.last().name == "step-00000004.state"


def test_a_name_that_is_no_figure_is_refused(make):
    with pytest.raises(ValueError, match=r"monitor='bleu'; there are \['loss"):
        make(monitor="bleu").save(Position(), [], {}, {"loss": [1.0]})


def test_there_is_no_last_before_the_first(make):
    assert make().last() is None


def test_early_stopping_is_saved_at_the_end_of_epochs_alone(make):
    saver = make()
    saver.model.stop_training = True
    for position in (Position(batches=1, step=1), Position(batches=2)):
        saver.save(position, [], {"loss": tf.constant(1.5)})
    path = saver.last()
    header, _ = checkpoint_file.read(path)
    assert header["stopped"]
    assert header["logs"] == {"loss": 1.5}
    header, _ = checkpoint_file.read(saver.folder.path_of(1))
    assert not header["stopped"]


def test_logs_become_plain_numbers():
    logs = {"a": tf.constant(0.1), "b": np.arange(2), "c": 1}
    assert plain(logs) == {"a": float(np.float32(0.1)), "b": [0, 1], "c": 1}
