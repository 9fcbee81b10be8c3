import os
import signal

import keras
import pytest

from tests.training.resuming import runs


def names(folder):
    return sorted(path.name for path in folder.glob("*.state"))


def signal_at(event):
    """A callback that sends a SIGTERM once."""
    left = [True]

    def send(*_, **__):
        if left and left.pop():
            os.kill(os.getpid(), signal.SIGTERM)

    return keras.callbacks.LambdaCallback(**{event: send})


@pytest.mark.slow
def test_it_saves_after_steps_and_epochs(tmp_path):
    runs.run(tmp_path, epochs=2, save_every=3, keep=9)
    assert names(tmp_path) == [
        f"step-{step:08d}.state" for step in (3, 4, 6, 8)
    ]


def test_sigterm_saves_after_the_step_and_ends(tmp_path, capsys):
    whole, _ = runs.run(tmp_path / "whole")
    with pytest.raises(SystemExit) as ended:
        runs.run(
            tmp_path,
            save_every=99,
            callbacks=[signal_at("on_train_batch_begin")],
        )
    assert ended.value.code == 143
    assert names(tmp_path) == ["step-00000001.state"]
    assert "continue from" in capsys.readouterr().err
    model, _ = runs.run(tmp_path)
    runs.assert_same(model, whole)


@pytest.mark.slow
def test_sigterm_in_validation_ends_at_once(tmp_path):
    options = {"validation_data": runs.make_data(is_shuffled=False)}
    whole, history = runs.run(tmp_path / "whole", **options)
    with pytest.raises(SystemExit):
        runs.run(
            tmp_path,
            save_every=99,
            callbacks=[signal_at("on_test_batch_begin")],
            **options,
        )
    assert names(tmp_path) == ["step-00000004.state"]
    model, figures = runs.run(tmp_path, **options)
    runs.assert_same(model, whole)
    assert figures == history
