"""Attention, ours against Keras' and torch's: time and memory, one table.

    python -m benchmarks.attention                    # everything, an hour
    python -m benchmarks.attention --quick            # 512 and 2,048, minutes
    python -m benchmarks.attention --lengths 2048 --only ours keras_op torch

Batch 1, 8 heads, depth 64, float32, on as many threads as there are cores for
every side. oneDNN must be switched before TensorFlow is imported, so each
setting runs in processes of its own. Needs torch beside TensorFlow.
"""

import argparse
import json
import os
import subprocess
import sys

from benchmarks import report
from benchmarks.cases import cases_of
from benchmarks.sides import DENSE
from benchmarks.sides import SIDES

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)

# Compiling the longer ones would take longer than running everything else.
LONGEST_XLA = 4096


def run(lengths, sides, onednn_settings, *, rounds, seconds, memory=True):
    """Measure everything, a progress line per cell.

    Memory is measured with the first setting of oneDNN only: it is about
    tensors that are kept, not about the kernels that make them.

    Returns:
        {(onednn, case, side): {"milliseconds", "extra_megabytes",
        "process_megabytes", "note"}}, each where there is one.
    """
    cells = {}
    for onednn in onednn_settings:
        for length in lengths:
            cases = cases_of(length)
            possible = {
                case: [side for side in sides if not why_not(side, case)]
                for case in cases
            }
            for case in cases:
                for side in set(sides) - set(possible[case]):
                    note = why_not(side, case)
                    cells[onednn, case, side] = {"note": note}
            jobs = [("time", case, possible[case]) for case in cases]
            if memory and onednn == onednn_settings[0]:
                jobs += [
                    ("memory", case, [side])
                    for case in cases
                    for side in possible[case]
                ]
            for (what, names), indices in _processes(jobs, cases).items():
                command = [what, str(length), *names]
                command += ["--cases", *map(str, indices)]
                command += ["--rounds", str(rounds), "--seconds", str(seconds)]
                for index, results in _child(command, onednn):
                    for side, result in results.items():
                        key = onednn, cases[index], side
                        cells.setdefault(key, {}).update(result)
                        print(report.progress(*key, result), flush=True)
    return cells


def why_not(side: str, case) -> str | None:
    """Say why a cell is skipped; None if it is not."""
    if side == "ours_xla" and case.length > LONGEST_XLA:
        return "not compiled"
    if side in DENSE and case.dense_bytes > 0.8 * report.memory_bytes():
        return f"needs {case.dense_bytes / 1e9:.0f} GB"
    return None


def _processes(jobs, cases):
    """Gather the cases that one process can measure."""
    processes = {}
    for what, case, names in jobs:
        if names:
            indices = processes.setdefault((what, tuple(names)), [])
            indices.append(cases.index(case))
    return processes


def _child(command, onednn):
    """Yield (case index, results) as a measuring process prints them."""
    environment = {
        **os.environ,
        "TF_ENABLE_ONEDNN_OPTS": str(onednn),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KERAS_BACKEND": "tensorflow",
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.measure", *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in child.stdout:
        answer = json.loads(line)
        yield answer["case"], answer["results"]
    _, errors = child.communicate()
    if child.returncode:
        print(f"failed: {' '.join(command)}\n{errors[-2000:]}", flush=True)


def main():
    """Measure, print the table and the targets, and save if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=None, help=f"from {LENGTHS}"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=SIDES,
        default=list(SIDES),
        metavar="SIDE",
        help=f"from {', '.join(SIDES)}",
    )
    parser.add_argument(
        "--onednn", type=int, nargs="+", choices=[0, 1], default=[1, 0]
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="turns each side gets"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="how long a turn lasts"
    )
    parser.add_argument(
        "--quick", action="store_true", help="512 and 2,048, oneDNN on, 3 turns"
    )
    parser.add_argument(
        "--time-only", action="store_true", help="leave memory out"
    )
    parser.add_argument(
        "--save", action="store_true", help="write to benchmarks/results/"
    )
    args = parser.parse_args()
    if args.quick:
        args.lengths = args.lengths or [512, 2048]
        args.onednn, args.rounds = [1], 3
    settings = report.settings()
    print(*settings, "", sep="\n")
    cells = run(
        args.lengths or LENGTHS,
        args.only,
        args.onednn,
        rounds=args.rounds,
        seconds=args.seconds,
        memory=not args.time_only,
    )
    text = report.markdown(settings, cells, args.only)
    print(f"\n{text}")
    if args.save:
        for path in report.save(cells, text):
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
