"""Measure in this process, one JSON line per case; `attention.py` calls it.

    python -m benchmarks.measure time 2048 ours keras_op torch
    python -m benchmarks.measure memory 2048 ours

Sides are timed in turns, so that what disturbs the machine disturbs them all.
Memory is measured in a fresh copy of the process each time, because
TensorFlow's allocators keep what they once had. Needs Linux, for /proc.
"""

import argparse
import dataclasses
import gc
import json
import multiprocessing
import pathlib
import re
import signal
import time

from benchmarks.cases import Case
from benchmarks.cases import cases_of
from benchmarks.sides import SIDES
from benchmarks.sides import use_all_cores

# A step that has run this long, and twice, has been measured well enough.
ENOUGH_SECONDS = 6.0


def time_steps(steps: dict, *, rounds: int, seconds: float) -> dict[str, float]:
    """Time steps in turns; the best milliseconds of each.

    The first call, which also traces, counts like any other; steps that take
    very long get one more.

    Args:
        steps: Functions without arguments, by name.
        rounds: How many turns each step gets, unless it has run enough.
        seconds: How long a turn lasts; at least one call.
    """
    times = {name: [_seconds(step)] for name, step in steps.items()}
    for _ in range(rounds):
        for name, step in steps.items():
            spent = 0.0
            while spent <= seconds and (
                len(times[name]) < 2 or sum(times[name]) < ENOUGH_SECONDS
            ):
                times[name].append(_seconds(step))
                spent += times[name][-1]
    return {name: 1e3 * min(taken) for name, taken in times.items()}


def _seconds(step) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def peak_memory(side: str, case: Case) -> dict[str, float]:
    """Measure how far the first call of a step raises the peak.

    Returns:
        Megabytes that the call added to its inputs, and that the whole
        process held at its peak.
    """
    # Threads, kernels and the like; too small to leave memory to reuse.
    SIDES[side](dataclasses.replace(case, length=64))()
    step = SIDES[side](case)
    gc.collect()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # peak := now
    before = megabytes("VmRSS")
    step()
    peak = megabytes("VmHWM")
    return {"extra_megabytes": peak - before, "process_megabytes": peak}


def in_a_fresh_copy(function, *args):
    """Call `function` in a fork of this process, and return what it does.

    A copy that the system killed, for want of memory, returns a note.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(function(*args)))
    child.start()
    sender.close()
    try:
        result = receiver.recv()
    except EOFError:
        result = None
    child.join()
    if child.exitcode == -signal.SIGKILL:
        return {"note": "killed"}
    if child.exitcode:
        raise RuntimeError(f"{function.__name__}{args} failed")
    return result


def megabytes(field: str) -> float:
    """A size that Linux tells of this process, such as its peak."""
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", text)[1]) * 1024 / 1e6


def main():
    """Measure some or all of the four cases of one length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["time", "memory"])
    parser.add_argument("length", type=int)
    parser.add_argument("sides", nargs="+", choices=SIDES)
    parser.add_argument("--cases", type=int, nargs="+", default=range(4))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()
    for side in args.sides:
        use_all_cores(side)
    for index in args.cases:
        case = cases_of(args.length)[index]
        if args.what == "time":
            best = time_steps(
                {side: SIDES[side](case) for side in args.sides},
                rounds=args.rounds,
                seconds=args.seconds,
            )
            results = {side: {"milliseconds": ms} for side, ms in best.items()}
        else:
            results = {}
            for side in args.sides:
                results[side] = in_a_fresh_copy(peak_memory, side, case)
        print(json.dumps({"case": index, "results": results}), flush=True)


if __name__ == "__main__":
    main()
