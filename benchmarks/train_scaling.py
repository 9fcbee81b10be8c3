"""What `fit` costs on one device, two, two processes, and with checkpoints.

    python -m benchmarks.train_scaling --save
    python -m benchmarks.train_scaling --quick    # a tiny GPT, two steps

A GPT of 4 blocks of 256 units learns batches of 32 × 128 tokens. One device has
all cores; two devices or workers share them. Sides take turns, a few steps
each, in one process; two workers train after them. A ratio is the median over
the turns, of the median steps. What a checkpoint costs is what its steps take
longer than those between.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

# Read when TensorFlow is imported; without it TensorFlow is half as fast.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import keras
import numpy as np
import tensorflow as tf

from keras_attn import models
from keras_attn import training

RESULTS = pathlib.Path(__file__).parent / "results"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of the model, and of a batch."""

    num_layers: int = 4
    units: int = 256
    rows: int = 32
    length: int = 128
    vocabulary: int = 4096


FULL = Sizes()
TINY = Sizes(num_layers=1, units=16, rows=4, length=8, vocabulary=32)
# Steps at the start of a turn that do not count: `fit` still fills its queues.
WARM_UP = 2
# How often a checkpoint is to be saved, and how often it is while its cost is
# measured; steps after a save that may feel it.
TARGET_EVERY, SAVE_EVERY, FELT = 50, 10, 3
# Side, beside which other, and what the ratio of their times may be.
TARGETS = (
    ("ours", "keras", 1.0),
    ("two devices", "ours", 1.25),
    ("two workers", "ours", 1.25),
)
SAVING_TARGET = 0.03


class StepTimes(keras.callbacks.Callback):
    """When each batch ended."""

    def on_train_begin(self, logs=None):
        self.ends = []

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # waits for the device
        self.ends.append(time.perf_counter())

    def seconds(self):
        """What the steps took, without those that warm up."""
        return np.diff(self.ends)[WARM_UP - 1 :].tolist()


def make(side, sizes, jit_compile):
    """The model of a side, in the scope of its strategy."""
    strategy = tf.distribute.get_strategy()
    if side == "two devices":
        strategy = training.strategy("mirrored")
    elif side == "two workers":
        strategy = training.strategy("multi_worker")
    with strategy.scope():
        model = models.GPT(
            vocabulary_size=sizes.vocabulary,
            num_layers=sizes.num_layers,
            num_heads=4,
            units=sizes.units,
            max_length=sizes.length,
        )
        if side == "keras":  # the same network without our `fit`
            model = keras.Model(model.inputs, model.outputs)
        model.compile(
            "adam", loss=training.MaskedCrossentropy(), jit_compile=jit_compile
        )
    return model


def batches(sizes):
    """Random tokens without end."""
    ids = np.random.default_rng(0).integers(
        1, sizes.vocabulary, (2 * sizes.rows, sizes.length), dtype="int32"
    )
    data = tf.data.Dataset.from_tensor_slices((ids, ids))
    return data.batch(sizes.rows, drop_remainder=True).repeat()


def take_turns(sides, sizes, *, turns, steps, jit_compile):
    """Train a few steps of each side, turn after turn.

    Returns:
        For each side the seconds of its steps, a list for each turn.
    """
    # First: two workers must meet before TensorFlow does anything else.
    trained = {side: make(side, sizes, jit_compile) for side in sides}
    data, times = batches(sizes), StepTimes()
    found = {side: [] for side in sides}
    for turn in range(turns + 1):
        for side, model in trained.items():
            model.fit(
                data,
                steps_per_epoch=WARM_UP + steps,
                verbose=0,
                callbacks=[times],
            )
            if turn:  # the first one traces
                found[side].append(times.seconds())
    return found


def measure_saving(sizes, *, saves, jit_compile):
    """Save now and then, and restore once.

    Returns:
        Seconds of a step, of what a save adds to the steps that feel it, and
        of restoring.
    """
    model, times = make("checkpoints", sizes, jit_compile), StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        training.fit(
            model,
            batches(sizes),
            epochs=1,
            steps_per_epoch=(saves + 1) * SAVE_EVERY,
            verbose=0,
            callbacks=[times],
            checkpoints=folder,
            save_every=SAVE_EVERY,
        )
        again = make("checkpoints", sizes, jit_compile)
        start = time.perf_counter()
        training.restore(again, folder, which="last")
        resumed = time.perf_counter() - start
    step, cost = cost_of_saves(np.diff(times.ends).tolist(), saves)
    return {"step": step, "save": cost, "resumed": resumed}


def cost_of_saves(intervals, saves):
    """Median seconds of a step, and of what a save adds to it.

    Args:
        intervals: Seconds from the end of each step to that of the next.
        saves: How many there were, after each `SAVE_EVERY` steps.
    """
    # Interval i lies between the ends of steps i and i + 1: a save after step
    # SAVE_EVERY is felt from the interval before that end on.
    felt = [
        slice(SAVE_EVERY * (i + 1) - 2, SAVE_EVERY * (i + 1) + FELT)
        for i in range(saves)
    ]
    calm = list(intervals)
    for part in reversed(felt):
        del calm[part]
    step = statistics.median(calm[1:])  # the first traces
    extra = [sum(intervals[x]) - len(intervals[x]) * step for x in felt]
    return step, statistics.median(extra)


def measure(group, args):
    """What one process of a group finds; of two workers, the first."""
    sizes = TINY if args.quick else FULL
    options = {"jit_compile": args.jit_compile}
    turns = {"turns": args.turns, "steps": args.steps, **options}
    if group == "one process":
        (cpu,) = tf.config.list_physical_devices("CPU")
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [one, one])
        return take_turns(["keras", "ours", "two devices"], sizes, **turns)
    if group == "saving":
        return measure_saving(sizes, saves=args.turns, **options)
    return take_turns(["two workers"], sizes, **turns)


def run(group, args):
    """Measure a group in processes of its own."""
    command = [sys.executable, "-m", "benchmarks.train_scaling"]
    command += ["--group", group, "--steps", str(args.steps)]
    command += ["--turns", str(args.turns)]
    command += ["--jit_compile"] * args.jit_compile + ["--quick"] * args.quick
    clusters = [None]
    if group == "two workers":
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
        raise RuntimeError(f"{group} failed")
    return json.loads(outputs[0].splitlines()[-1])


def ratio_of(found, side, other):
    """The median over the turns, of the ratio of the median steps."""
    medians = {
        name: [statistics.median(turn) for turn in found[name]]
        for name in (side, other)
    }
    pairs = zip(medians[side], medians[other], strict=True)
    return statistics.median(one / two for one, two in pairs)


def report(found, saving):
    """The lines of the table and of what a checkpoint costs."""
    lines = ["| | s a step | beside | ratio | at most | |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    lines.append(f"| keras | {_median(found['keras']):.3f} | | | | |")
    for side, other, most in TARGETS:
        ratio = ratio_of(found, side, other)
        lines.append(
            f"| {side} | {_median(found[side]):.3f} | {other} | {ratio:.2f} | "
            f"{most} | {_verdict(ratio <= most)} |"
        )
    share = saving["save"] / (TARGET_EVERY * saving["step"])
    return [
        *lines,
        "",
        f"A checkpoint adds {saving['save']:.2f} s: every {TARGET_EVERY} "
        f"steps, {share:.1%} of the time (at most {SAVING_TARGET:.0%}: "
        f"{_verdict(share <= SAVING_TARGET)}). A model is restored from its "
        f"last one in {saving['resumed']:.1f} s.",
    ]


def _median(turns):
    return statistics.median(second for turn in turns for second in turn)


def _verdict(met):
    return "met" if met else "NOT met"


def main(arguments=None):
    """Measure all groups, print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=10, help="of a turn")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--jit_compile", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tiny GPT")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--group", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.group:
        print(json.dumps(measure(args.group, args)))
        return None
    if args.quick:
        args.turns, args.steps = 1, 2
    found, sizes = {}, TINY if args.quick else FULL
    for group in ("one process", "two workers"):
        print(f"{group} ...", flush=True)
        found |= run(group, args)
    print("checkpoints ...", flush=True)
    lines = [
        f"# fit, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores; tensorflow {tf.__version__}, keras "
        f"{keras.__version__}; oneDNN {os.environ['TF_ENABLE_ONEDNN_OPTS']}; "
        f"XLA {'on' if args.jit_compile else 'off'}; {args.turns} turns of "
        f"{args.steps} steps. A GPT of {sizes.num_layers} blocks of "
        f"{sizes.units} units, {sizes.rows} × {sizes.length} tokens a step, "
        f"{sizes.vocabulary} words.",
        "",
        *report(found, run("saving", args)),
    ]
    print(*lines, sep="\n")
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"train_scaling_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")
    return lines


if __name__ == "__main__":
    main()
