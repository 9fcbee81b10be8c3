"""Measure ViT-S/16 and ViT-B/16 beside KerasHub, plain Keras and torch.

    python -m benchmarks.vision --save
    python -m benchmarks.vision --quick

A training step is forward, loss, backward and Adam on random images, batch 8
(S/16) or 4 (B/16), without dropout; prediction is at batches 8 and 1. "Keras"
is a ViT of Keras' own layers, "torch" is Hugging Face's, "products" are the
matrix products of the blocks alone, the limit of all of them without XLA.
Those on Keras are measured without XLA and with it; ratios of time are of the
better of the two. "C++" is our model, exported, in the session that TF Serving
uses, asked with decoded pixels or with the bytes of PNG files, beside Python
without XLA. Sides on TensorFlow take turns, call by call, in one process, the
others have one of their own; the best call after the first counts. Memory is
that of a training step without XLA in a process of its own. oneDNN is on,
unless TF_ENABLE_ONEDNN_OPTS says otherwise.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import time

# Read when TensorFlow is imported; without it TensorFlow is half as fast.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from benchmarks.vision_sides import MEASURED
from benchmarks.vision_sides import MODELS
from benchmarks.vision_sides import SERVED
from benchmarks.vision_sides import SIDES
from benchmarks.vision_sides import TOGETHER
from benchmarks.vision_sides import XLA
from benchmarks.vision_sides import served_seconds

RESULTS = pathlib.Path(__file__).parent / "results"
TASKS = ("train", "predict_8", "predict_1")
# Ours / KerasHub, at most; memory at the larger images.
TRAIN_TIME, TRAIN_MEMORY, MEMORY_PIXELS = 0.9, 0.6, 384
# Ours / the better of KerasHub and torch, at most.
PREDICT_TIME = 1.0
# Answers per second of the C++ session / of Python's predict, at least.
SERVED_SPEED = 0.9


def measure(what, sides, task, model, pixels, steps):
    """Best milliseconds of a call of each side, or megabytes of one of them.

    Args:
        what: "milliseconds" or "megabytes".
        sides: Of `SIDES`, or one of `SERVED`.
        task, model, pixels: What to do, and how large it is.
        steps: Calls that count.

    Returns:
        For each side {what: number}.
    """
    sizes = MODELS[model]
    if sides[0] in SERVED:
        seconds = served_seconds(
            task, sizes, pixels, from_bytes=SERVED[sides[0]], rounds=steps + 1
        )
        return {sides[0]: {what: 1e3 * seconds}}
    calls = {side: SIDES[side](task, sizes, pixels) for side in sides}
    if what == "megabytes":
        return {side: {what: added(call)} for side, call in calls.items()}
    return {
        side: {what: 1e3 * seconds}
        for side, seconds in take_turns(calls, steps).items()
    }


def take_turns(calls, steps):
    """The best seconds of each call after its first, which traces."""
    for call in calls.values():
        call()
    times = {side: [] for side in calls}
    for _ in range(steps):
        for side, call in calls.items():
            start = time.perf_counter()
            call()
            times[side].append(time.perf_counter() - start)
    return {side: min(taken) for side, taken in times.items()}


def added(call):
    """Megabytes that two calls add to this process at its peak."""
    from benchmarks.measure import megabytes

    before = megabytes("VmRSS")
    call()
    call()
    return megabytes("VmHWM") - before


def in_its_own_process(what, sides, *arguments):
    """Measure where no other side has left anything in memory."""
    command = [sys.executable, "-m", "benchmarks.vision", "--measure", what]
    child = subprocess.run(
        [*command, ";".join(sides), *map(str, arguments)],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(child.stdout.splitlines()[-1])


def compare(task, model, pixels, *, rounds, steps):
    """The figures of each side, or None where it has none."""
    results = {side: {} for side in (*SIDES, *SERVED)}
    alone = [(side,) for side in SIDES if side not in TOGETHER]
    if task == "train":
        results |= dict.fromkeys(SERVED)
    else:
        alone += [(side,) for side in SERVED]
    sizes = task, model, pixels, steps
    for _ in range(rounds):
        for sides in (TOGETHER, *alone):
            found = in_its_own_process("milliseconds", sides, *sizes)
            for side, new in found.items():
                results[side] = best_of(results[side] or new, new)
    if task == "train":
        for side in MEASURED:
            found = in_its_own_process("megabytes", (side,), *sizes)
            results[side] |= found[side]
    return results


def best_of(old, new):
    """The lower of each figure."""
    return {key: min(old[key], new[key]) for key in new}


def ratios(task, results):
    """What targets are about, by name.

    Args:
        task: One of `TASKS`.
        results: For each side its milliseconds and megabytes, or None.
    """
    ours, hub = results["ours"], results["KerasHub"]
    our_time, hub_time = (fastest(results, x) for x in ("ours", "KerasHub"))
    if task == "train":
        return {
            "time": our_time / hub_time,
            "memory": ours["megabytes"] / hub["megabytes"],
        }
    torch_time = results["torch"]["milliseconds"]
    return {
        "time": our_time / min(hub_time, torch_time),
        "C++": ours["milliseconds"] / results["C++, pixels"]["milliseconds"],
    }


def fastest(results, side):
    """Milliseconds of a side on Keras, with XLA or without."""
    both = (results[side], results[side + XLA])
    return min(result["milliseconds"] for result in both)


def row(model, pixels, task, results):
    """One line of the table."""
    cells = [model, str(pixels), task]
    for side in (*SIDES, *SERVED):
        result = results[side]
        if result is None:
            cells.append("–")
            continue
        cell = f"{result['milliseconds']:,.0f} ms"
        if "megabytes" in result:
            cell += f", {result['megabytes']:,.0f} MB"
        cells.append(cell)
    found = ratios(task, results)
    for name in ("time", "memory", "C++"):
        cells.append(f"{found[name]:.2f}" if name in found else "–")
    return f"| {' | '.join(cells)} |"


def targets(model, pixels, task, results):
    """Lines that say which targets are met."""
    found = ratios(task, results)
    where = f"{model}, {pixels} pixels, {task}"

    def line(what, value, bound, met):
        verdict = "met" if met else "NOT met"
        return f"* {where}: {what} {value:.2f}, target {bound}: {verdict}"

    if task != "train":
        time, speed = found["time"], found["C++"]
        return [
            line(
                "time / the better of KerasHub and torch",
                time,
                f"at most {PREDICT_TIME}",
                time <= PREDICT_TIME,
            ),
            line(
                "speed in C++ / in Python",
                speed,
                f"at least {SERVED_SPEED}",
                speed >= SERVED_SPEED,
            ),
        ]
    time, memory = found["time"], found["memory"]
    limit = results["products"]["milliseconds"] / fastest(results, "KerasHub")
    what = f"time / KerasHub (products alone {limit:.2f})"
    bound = f"at most {TRAIN_TIME}"
    lines = [line(what, time, bound, time <= TRAIN_TIME)]
    if pixels >= MEMORY_PIXELS:
        met = memory <= TRAIN_MEMORY
        bound = f"at most {TRAIN_MEMORY}"
        lines.append(line("memory / KerasHub", memory, bound, met))
    return lines


def main(arguments=None):
    """Measure, print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="tiny, one turn")
    parser.add_argument("--models", nargs="+", default=["s16", "b16"])
    parser.add_argument("--pixels", type=int, nargs="+", default=[224, 384])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--steps", type=int, default=5, help="calls of each")
    parser.add_argument("--rounds", type=int, default=2, help="processes")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--measure", nargs=6, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.measure:
        what, sides, task, model, *numbers = args.measure
        sides = sides.split(";")
        found = measure(what, sides, task, model, *map(int, numbers))
        print(json.dumps(found))
        return None
    if args.quick:
        args.models, args.pixels = ["tiny"], [32]
        args.steps = args.rounds = 1
    sides = (*SIDES, *SERVED)
    packages = ("keras", "keras-hub", "tensorflow", "torch", "transformers")
    versions = [f"{x} {importlib.metadata.version(x)}" for x in packages]
    lines = [
        f"# ViT, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores; {', '.join(versions)}; oneDNN "
        f"{os.environ['TF_ENABLE_ONEDNN_OPTS']}; busy with "
        f"{os.getloadavg()[0]:.1f} threads at the start. Best milliseconds of "
        "a call, and megabytes that training added to its process at its "
        "peak. Time and memory of training are ours / KerasHub's, time of "
        "prediction ours / the better of KerasHub's and torch's; C++ is its "
        "speed / Python's without XLA.",
        "",
        f"| model | pixels | task | {' | '.join(sides)} | time | memory | C++ "
        "|",
        "| --- " * (len(sides) + 6) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    verdicts = []
    for model in args.models:
        for pixels in args.pixels:
            for task in args.tasks:
                results = compare(
                    *(task, model, pixels),
                    rounds=args.rounds,
                    steps=args.steps,
                )
                lines.append(row(model, pixels, task, results))
                verdicts += targets(model, pixels, task, results)
                print(lines[-1], flush=True)
    print("", *verdicts, sep="\n")
    lines += ["", *verdicts]
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"vision_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")
    return lines


if __name__ == "__main__":
    main()
