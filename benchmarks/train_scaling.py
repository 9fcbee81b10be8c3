"""What `fit` costs on one device, two, two processes, and with checkpoints.

    python -m benchmarks.train_scaling            # a quarter of an hour
    python -m benchmarks.train_scaling --steps 20 --rounds 1

A GPT of 4 blocks of 256 units learns batches of 32 × 128 tokens. Every side is
a process of its own; they take turns, and the best round of each counts. One
device has all cores; two devices or workers share them.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf

from keras_attn import models
from keras_attn import training

ROWS, LENGTH, VOCABULARY = 32, 128, 4096
WARM_UP = 5  # steps that are not timed: they trace and compile
SAVE_EVERY = 50
# Side, beside which other, and what the ratio of their times may be.
TARGETS = (
    ("ours", "keras", 1.0),
    ("two devices", "ours", 1.25),
    ("two workers", "ours", 1.25),
    ("checkpoints", "ours", 1.03),
)


class StepTimes(keras.callbacks.Callback):
    """When each batch ended."""

    def on_train_begin(self, logs=None):
        self.ends = []

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # waits for the device
        self.ends.append(time.perf_counter())


def make(side, jit_compile):
    """The model of a side, in the scope of its strategy."""
    strategy = tf.distribute.get_strategy()
    if side == "two devices":
        (cpu,) = tf.config.list_physical_devices("CPU")
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [one, one])
        strategy = training.strategy("mirrored")
    elif side == "two workers":
        strategy = training.strategy("multi_worker")
    with strategy.scope():
        model = models.GPT(
            vocabulary_size=VOCABULARY,
            num_layers=4,
            num_heads=4,
            units=256,
            max_length=LENGTH,
        )
        if side == "keras":  # the same network without our `fit`
            model = keras.Model(model.inputs, model.outputs)
        model.compile(
            "adam", loss=training.MaskedCrossentropy(), jit_compile=jit_compile
        )
    return model


def measure(side, steps, jit_compile):
    """Train in this process; return the mean seconds of a step."""
    ids = np.random.default_rng(0).integers(
        1, VOCABULARY, (2 * ROWS, LENGTH), dtype="int32"
    )
    data = tf.data.Dataset.from_tensor_slices((ids, ids))
    data = data.batch(ROWS, drop_remainder=True).repeat()
    model, times = make(side, jit_compile), StepTimes()
    options = {
        "steps_per_epoch": WARM_UP + steps,
        "verbose": 0,
        "callbacks": [times],
    }
    if side != "checkpoints":
        model.fit(data, **options)
        resumed = None
    else:
        with tempfile.TemporaryDirectory() as folder:
            options |= {"checkpoints": folder, "save_every": SAVE_EVERY}
            training.fit(model, data, epochs=1, **options)
            again, start = make(side, jit_compile), time.perf_counter()
            training.restore(again, folder, which="last")
            resumed = time.perf_counter() - start
    took = (times.ends[-1] - times.ends[WARM_UP - 1]) / steps
    return {"step": took, "resumed": resumed}


def run(side, args):
    """Measure a side in processes of its own."""
    command = [sys.executable, "-m", "benchmarks.train_scaling"]
    command += ["--side", side, "--steps", str(args.steps)]
    command += ["--jit_compile"] if args.jit_compile else []
    clusters = [None]
    if side == "two workers":
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.close()
        workers = {"worker": [f"127.0.0.1:{port}" for port in ports]}
        clusters = [
            {"cluster": workers, "task": {"type": "worker", "index": i}}
            for i in range(2)
        ]
    processes = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                **({"TF_CONFIG": json.dumps(cluster)} if cluster else {}),
            },
        )
        for cluster in clusters
    ]
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError(f"{side} failed")
    return json.loads(outputs[0].splitlines()[-1])


def main():
    """Measure all sides in turns, and print their ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2 * SAVE_EVERY)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jit_compile", action="store_true")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        print(json.dumps(measure(args.side, args.steps, args.jit_compile)))
        return
    sides = ["keras", *(side for side, _, _ in TARGETS)]
    found = {side: [] for side in sides}
    for turn in range(args.rounds):
        for side in sides:
            found[side].append(run(side, args))
            step = found[side][-1]["step"]
            print(f"round {turn}, {side}: {step:.3f} s a step", flush=True)
    best = {s: min(x["step"] for x in all_) for s, all_ in found.items()}
    resumed = min(x["resumed"] for x in found["checkpoints"])
    print("\n| | s a step | beside | ratio | at most |")
    print("| --- | --- | --- | --- | --- |")
    print(f"| keras | {best['keras']:.3f} | | | |")
    for side, other, most in TARGETS:
        ratio = best[side] / best[other]
        print(f"| {side} | {best[side]:.3f} | {other} | {ratio:.2f} | {most} |")
    print(f"\nA model is restored from its last checkpoint in {resumed:.1f} s.")


if __name__ == "__main__":
    main()
