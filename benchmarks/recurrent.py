"""Measure a Bahdanau GRU beside plain Keras and torch.

    python -m benchmarks.recurrent
    python -m benchmarks.recurrent --quick

A training step is forward, loss, backward and Adam on random ids, without
dropout: batch 64, embedding 256, units 512, vocabulary 8,000, one bidirectional
layer and additive attention. Decoding is greedy, 32 tokens that never end. Each
side has a process of its own for each number of threads, in turns; the best
counts. "unrolled" is plain Keras layers and a loop of Python. oneDNN is on for
training and off for decoding, unless TF_ENABLE_ONEDNN_OPTS says otherwise.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

from benchmarks.recurrent_sides import SIDES
from benchmarks.recurrent_sides import Sizes

RESULTS = pathlib.Path(__file__).parent / "results"
# Ours / torch: milliseconds of a step, and tokens/s at batches 1 and 32.
TARGETS = {"train": 0.9, "decode_1": 1.2, "decode_32": 1.0}
FIRST_STEP_SECONDS = 10.0
QUICK = Sizes(batch=4, embedding=8, units=16, vocabulary=50)
TASKS = ("train", "decode_1", "decode_32")


def measure(side, task, length, threads, quick):
    """Seconds of the first call, and the best of those that follow."""
    # Read when TensorFlow is imported: large products take half the time with
    # oneDNN, the small ones of un-jitted decoding more.
    onednn = "1" if task == "train" else "0"
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", onednn)
    sizes = QUICK if quick else Sizes()
    start = time.perf_counter()
    step = SIDES[side](task, sizes, length, threads)
    if step is None:
        return None
    begin = time.perf_counter()
    step()
    first = time.perf_counter() - begin
    best = np.inf
    for _ in range(2 if quick else 6):
        begin = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - begin)
        if time.perf_counter() - start > 60:
            break
    return {"first": first, "best": best}


def in_its_own_process(*arguments):
    """Measure where no other side has set the number of threads."""
    command = [sys.executable, "-m", "benchmarks.recurrent", "--measure"]
    child = subprocess.run(
        [*command, *map(str, arguments)], stdout=subprocess.PIPE, check=True
    )
    return json.loads(child.stdout.splitlines()[-1])


def figures(task, results, tokens):
    """Cells of a row: milliseconds, or tokens/s, and the ratio to torch."""
    cells = []
    for side in SIDES:
        result = results.get(side)
        if result is None:
            cells.append("–")
        elif task == "train":
            best, first = 1e3 * result["best"], result["first"]
            cells.append(f"{best:,.0f} ms (first {first:.1f} s)")
        else:
            cells.append(f"{tokens / result['best']:,.0f} tokens/s")
    for side in ("ours", "ours_xla"):
        ratio = results[side]["best"] / results["torch"]["best"]
        cells.append(f"{ratio if task == 'train' else 1 / ratio:.2f}")
    return " | ".join(cells)


def main(arguments=None):
    """Measure, print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="tiny, in turns")
    parser.add_argument("--lengths", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.measure:
        side, task, *numbers = args.measure
        print(json.dumps(measure(side, task, *map(int, numbers))))
        return None
    if args.quick:
        args.lengths, args.threads, args.rounds = [4], [1], 1
    lines = [
        f"# A recurrent decoder with attention, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores. Targets beside torch: a step "
        f"{TARGETS['train']} × its time, at most, and the first one, un-jitted,"
        f" within {FIRST_STEP_SECONDS:.0f} s; decoding {TARGETS['decode_1']} × "
        f"its tokens/s at batch 1 and {TARGETS['decode_32']} × at 32.",
        "",
        f"| task | length | threads | {' | '.join(SIDES)} | ours / torch | "
        "ours_xla / torch |",
        "| --- " * (len(SIDES) + 5) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    for task in args.tasks:
        for length in args.lengths:
            for threads in args.threads:
                results = {}
                for _ in range(args.rounds):
                    for side in SIDES:
                        given = (side, task, length, threads, int(args.quick))
                        new = in_its_own_process(*given)
                        old = results.get(side) or new
                        results[side] = new and {
                            key: min(old[key], new[key]) for key in new
                        }
                batch = {"decode_1": 1, "decode_32": 32}.get(task, 0)
                cells = figures(task, results, 32 * batch)
                lines.append(f"| {task} | {length} | {threads} | {cells} |")
                print(lines[-1], flush=True)
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"recurrent_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")
    return lines


if __name__ == "__main__":
    main()
