import time

import keras
import numpy as np

from keras_attn.training.callbacks.compile_notice import CompileNotice


def run(notice, *seconds):
    """Steps that take so long."""
    notice.on_train_begin()
    for step, duration in enumerate(seconds):
        notice.on_train_batch_begin(step)
        time.sleep(duration)
        notice.on_train_batch_end(step)
    notice.on_train_end()


def test_a_step_that_takes_long_is_told_once(capsys):
    run(CompileNotice(2, after=0.2), 0, 0.8, 0, 0, 0.8, 0.8)
    lines = capsys.readouterr().err.split("\n")
    told = [line for line in lines if line]
    assert [line.split("step ")[1].split()[0] for line in told] == [
        "2",
        "5",
        "6",
    ]
    assert "(shape 1 of 2)" in told[0] and "(shape 2 of 2)" in told[1]
    # There are no more shapes: it is long for another reason.
    assert "shape " not in told[2].replace("each shape", "")


def test_quick_steps_are_silent(capsys):
    run(CompileNotice(), 0, 0.01, 0)
    assert capsys.readouterr().err == ""


def test_it_watches_fit(capsys):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    x = np.ones((4, 2), "float32")
    model.fit(x, x[:, :1], verbose=0, callbacks=[CompileNotice(1, after=0.02)])
    told = capsys.readouterr().err
    assert "step 1 takes long" in told and "(shape 1 of 1)" in told
