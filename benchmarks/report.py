"""The table, the targets and the files they are saved in."""

import csv
import datetime
import importlib.metadata
import os
import pathlib
import platform
import re

from benchmarks.cases import BATCH
from benchmarks.cases import DEPTH
from benchmarks.cases import HEADS
from benchmarks.cases import Case
from benchmarks.sides import CORES

RESULTS = pathlib.Path(__file__).parent / "results"

TITLES = {
    "ours": "ours",
    "ours_xla": "ours, XLA",
    "keras_op": "Keras op",
    "torch": "torch SDPA",
    "our_layer": "our layer",
    "keras_layer": "Keras layer",
}

# (title, ours, theirs, what is compared)
RATIOS = [
    ("time / Keras", "ours", "keras_op", "milliseconds"),
    ("memory / Keras", "ours", "keras_op", "extra_megabytes"),
    ("time / torch", "ours", "torch", "milliseconds"),
    ("layer time / Keras", "our_layer", "keras_layer", "milliseconds"),
    ("layer memory / Keras", "our_layer", "keras_layer", "extra_megabytes"),
]

# Forward + backward with oneDNN on: (length, causal, theirs, what, at most).
TARGETS = [
    (512, False, "keras_op", "milliseconds", 0.9),
    (2048, False, "keras_op", "milliseconds", 0.9),
    (2048, False, "keras_op", "extra_megabytes", 0.4),
    (4096, False, "keras_op", "milliseconds", 0.9),
    (4096, False, "keras_op", "extra_megabytes", 0.2),
    (4096, True, "keras_op", "milliseconds", 0.55),
    (2048, False, "torch", "milliseconds", 1.25),
    (4096, False, "torch", "milliseconds", 1.25),
]
LONGEST, LONGEST_MEGABYTES = 16384, 2000


def progress(onednn, case: Case, side: str, result: dict) -> str:
    """Write one line for one result."""
    values = ", ".join(
        value if name == "note" else f"{value:.1f} {name.replace('_', ' ')}"
        for name, value in result.items()
    )
    return f"{' '.join(_row_title(onednn, case))}  {side}: {values}"


def markdown(settings: list[str], cells: dict, sides: list[str]) -> str:
    """Write settings, table and targets as markdown."""
    return "\n".join([*settings, "", *_table(cells, sides), "", *_met(cells)])


def settings() -> list[str]:
    """Say what is run on what; ask before the run, which loads the machine."""
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    flags = re.search(r"flags\s*:(.*)", cpu)[1].split()
    widest = [flag for flag in ("avx2", "avx512f", "amx_bf16") if flag in flags]
    model = re.search(r"model name\s*:\s*(.*)", cpu)[1]
    packages = ("keras", "tensorflow", "torch", "numpy")
    versions = [f"{x} {importlib.metadata.version(x)}" for x in packages]
    return [
        f"# Attention, {datetime.date.today()}",
        "",
        f"Batch {BATCH}, {HEADS} heads, depth {DEPTH}, float32. Each cell: the "
        "best milliseconds, then the megabytes that a call adds to its inputs "
        "at its peak (measured with oneDNN on). Sides took turns in one "
        "process; memory was measured in a fresh process per cell. Layers "
        "project 512 features and are compared with each other.",
        "",
        f"Python {platform.python_version()}, {', '.join(versions)}; "
        f"{CORES} cores, {model}, {', '.join(widest)}; busy with "
        f"{os.getloadavg()[0]:.1f} other threads at the start, which should be "
        "near 0.",
    ]


def save(cells: dict, text: str) -> list[pathlib.Path]:
    """Write today's table as markdown and its cells as CSV."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"attention_{datetime.date.today()}.md"
    path.write_text(text + "\n")
    fields = ["milliseconds", "extra_megabytes", "process_megabytes", "note"]
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["onednn", "length", "pass", "mask", "side", *fields])
        for (onednn, case, side), cell in cells.items():
            values = [cell.get(field, "") for field in fields]
            rounded = [
                value if isinstance(value, str) else round(value, 2)
                for value in values
            ]
            row = [onednn, *_row_title(onednn, case)[1:], side, *rounded]
            writer.writerow(row)
    return [path, path.with_suffix(".csv")]


def memory_bytes() -> int:
    """Memory that is free for a new process."""
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable:\s+(\d+) kB", text)[1]) * 1024


def _table(cells, sides):
    ratios = [
        ratio for ratio in RATIOS if ratio[1] in sides and ratio[2] in sides
    ]
    rows = [
        ["oneDNN", "length", "pass", "mask"]
        + [TITLES[side] for side in sides]
        + [ratio[0] for ratio in ratios]
    ]
    for onednn, case in dict.fromkeys(key[:2] for key in cells):
        row = _row_title(onednn, case)
        for side in sides:
            row.append(_cell(cells.get((onednn, case, side), {})))
        for _, ours, theirs, what in ratios:
            ratio = _ratio(cells, onednn, case, ours, theirs, what)
            row.append("–" if ratio is None else f"{ratio:.2f}")
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return [
        "| "
        + " | ".join(
            text.ljust(width) for text, width in zip(row, widths, strict=True)
        )
        + " |"
        for row in rows
    ]


def _row_title(onednn, case):
    return [
        "on" if onednn else "off",
        str(case.length),
        "forward + backward" if case.backward else "forward",
        "causal" if case.causal else "none",
    ]


def _cell(cell):
    if "note" in cell:
        return cell["note"]
    texts = []
    if "milliseconds" in cell:
        texts.append(f"{cell['milliseconds']:.1f} ms")
    if "extra_megabytes" in cell:
        texts.append(f"{cell['extra_megabytes']:.0f} MB")
    return ", ".join(texts) or "–"


def _ratio(cells, onednn, case, ours, theirs, what):
    mine = cells.get((onednn, case, ours), {}).get(what)
    other = cells.get((onednn, case, theirs), {}).get(what)
    return mine / other if mine is not None and other else None


def _met(cells):
    lines = ["Targets, forward + backward with oneDNN on:", ""]
    for length, causal, theirs, what, most in TARGETS:
        case = Case(length, backward=True, causal=causal)
        ratio = _ratio(cells, 1, case, "ours", theirs, what)
        quantity = "time" if what == "milliseconds" else "extra memory"
        lines.append(
            f"- {length}{' causal' if causal else ''}, {quantity}, at most "
            f"{most} × {TITLES[theirs]}: {_verdict(ratio, most)}"
        )
    case = Case(LONGEST, backward=True, causal=False)
    peak = cells.get((1, case, "ours"), {}).get("process_megabytes")
    lines.append(
        f"- {LONGEST}, whole process, under {LONGEST_MEGABYTES} MB: "
        f"{_verdict(peak, LONGEST_MEGABYTES)}"
    )
    return lines


def _verdict(value, most):
    if value is None:
        return "not measured"
    number = f"{value:.2f}" if value < 100 else f"{value:.0f}"
    return f"{number}, {'met' if value <= most else 'MISSED'}"
