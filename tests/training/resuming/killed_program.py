"""A program that trains, and may be killed; it prints what it ends with.

    echo '["FOLDER", "KIND", COUNT]' |
        python -m tests.training.resuming.killed_program

Every line is a process of its own. KIND is what ends it when that has happened
COUNT times in it: "step" (SIGKILL after a step), "terminate" (SIGTERM after a
step), "stop" (SIGSTOP after a step), "write" (SIGKILL when a checkpoint is
written but has no name yet), "rename" (SIGKILL when it has one); "full" lets
no file be longer than COUNT bytes. It answers with the exit code and what the
process has printed; of "stop" with the process.
"""

import hashlib
import json
import os
import pathlib
import resource
import signal
import sys
import tempfile
import traceback

import keras
import numpy as np
import tensorflow as tf

from keras_attn import training

EPOCHS, BATCHES, SAVE_EVERY = 5, 12, 3
SIGNALS = {
    "step": signal.SIGKILL,
    "terminate": signal.SIGTERM,
    "stop": signal.SIGSTOP,
}


class Killer(keras.callbacks.Callback):
    """Sends a signal to this process after so many steps."""

    def __init__(self, steps, number):
        super().__init__()
        self.steps, self.number = steps, number

    def on_train_batch_end(self, batch, logs=None):
        self.steps -= 1
        if self.steps == 0:
            os.kill(os.getpid(), self.number)


def kill_in(name, count):
    """Let a function of `os` be the last thing this process does."""
    function = getattr(os, name)
    left = [count]

    def killing(*args):
        # A checkpoint and its folder are brought to the disk, in this order.
        if name != "fsync" or not os.path.isdir(f"/proc/self/fd/{args[0]}"):
            left[0] -= 1
        if name == "replace":
            function(*args)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if name != "replace":
            function(*args)

    setattr(os, name, killing)


def make_model():
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.layers.Dense(5, activation="relu"),
            keras.layers.Dropout(0.5),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"], jit_compile=False)
    return model


def make_data():
    x = np.random.default_rng(0).normal(size=(46, 3)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True)))
    return data.shuffle(20, seed=4).batch(4)


def main(folder, kind="", count=0):
    callbacks = []
    if kind in SIGNALS:
        callbacks.append(Killer(count, SIGNALS[kind]))
    elif kind in ("write", "rename"):
        kill_in("fsync" if kind == "write" else "replace", count)
    elif kind == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    model = make_model()
    history = training.fit(
        model,
        make_data(),
        checkpoints=pathlib.Path(folder),
        save_every=SAVE_EVERY,
        epochs=EPOCHS,
        verbose=0,
        callbacks=callbacks,
    )
    digest = hashlib.sha256()
    for variable in model.variables + model.optimizer.variables:
        digest.update(keras.ops.convert_to_numpy(variable).tobytes())
    print(digest.hexdigest(), json.dumps(history.history))


def run(*args):
    """What a process does that was made for `main`."""
    code = 1
    try:
        main(*args)
        code = 0
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def fork(args):
    """Run `main` in a process that need not import TensorFlow again.

    TensorFlow starts no thread before it is used, so it may be forked.
    """
    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        process = os.fork()
        if process == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            run(*args)
        if args[1:2] == ["stop"]:
            return process
        _, status = os.waitpid(process, 0)
        out.seek(0)
        err.seek(0)
        return os.waitstatus_to_exitcode(status), out.read(), err.read()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(fork(json.loads(line))), flush=True)
