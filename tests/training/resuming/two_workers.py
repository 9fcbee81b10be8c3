"""Two workers that train together, of which one is sent a signal.

    echo '["FOLDER", "SIGKILL", WORKER, STEPS]' |
        python -m tests.training.resuming.two_workers

WORKER is sent it after its first STEPS steps. "INDEX" in the folder's name is
that of the worker. It answers with what both have
ended with: exit code, output, errors, seconds after the other. WORKER "both" is
one process with two devices.
"""

import hashlib
import json
import os
import pathlib
import signal
import socket

import keras
import numpy as np
import tensorflow as tf

from keras_attn import training
from tests.training.resuming import forking
from tests.training.resuming.killed_program import Killer

EPOCHS, SAVE_EVERY = 3, 2


def make_model():
    keras.utils.set_random_seed(3)
    inputs = keras.Input((3,))
    x = keras.layers.Dense(5, activation="relu")(inputs)
    x = keras.layers.Dropout(0.5)(x)
    x = keras.layers.BatchNormalization()(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model = training.distributed(model)
    model.compile("adam", "mse", metrics=["mae"], jit_compile=False)
    return model


def make_data():
    x = np.random.default_rng(0).normal(size=(18, 3)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True)))
    return data.shuffle(20, seed=4).batch(4)


def main(folder, number, steps, index=None, addresses=()):
    """Train, under the strategy of several workers or of two devices."""
    if addresses:
        os.environ["TF_CONFIG"] = json.dumps(
            {
                "cluster": {"worker": addresses},
                "task": {"type": "worker", "index": index},
            }
        )
        strategy = training.strategy("multi_worker")
    else:
        (cpu,) = tf.config.list_physical_devices("CPU")
        device = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [device] * 2)
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = make_model()
    callbacks = [] if number is None else [Killer(steps, number)]
    history = training.fit(
        model,
        make_data(),
        checkpoints=pathlib.Path(folder.replace("INDEX", str(index))),
        save_every=SAVE_EVERY,
        epochs=EPOCHS,
        verbose=0,
        callbacks=callbacks,
    )
    digest = hashlib.sha256()
    for variable in model.variables + model.optimizer.variables:
        digest.update(keras.ops.convert_to_numpy(variable).tobytes())
    print(digest.hexdigest(), json.dumps(history.history))


def free_addresses(number):
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return addresses


def answer(folder, name=None, worker=None, steps=0):
    """Run all processes to their ends."""
    number = None if name is None else getattr(signal, name)
    if worker == "both":
        return [forking.Forked(main, folder, number, steps).wait()]
    addresses = free_addresses(2)
    forked = [
        forking.Forked(
            main,
            folder,
            number if index == worker else None,
            steps,
            index,
            addresses,
        )
        for index in range(2)
    ]
    # First the one that is hit: the other is timed from then on.
    order = [1, 0] if worker == 1 else [0, 1]
    ends = {index: forked[index].wait() for index in order}
    return [ends[0], ends[1]]


if __name__ == "__main__":
    forking.serve(answer)
