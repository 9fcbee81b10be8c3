"""Measure exported models: answers through a server, files and loading.

    python -m benchmarks.serving                    # about 5 minutes
    python -m benchmarks.serving --only files --loads 10
    python -m benchmarks.serving --batches 1 --seconds 10 --save

A small GPT with random weights goes on from lines of docstrings. The server is
`python -m keras_attn.export serve`, asked over gRPC; beside it Python tokenizes
(in graph), calls `decoding.generate` and detokenizes. Folders are loaded by the
C++ loader, each time in a new process. Sides take turns; the best turn counts.
Needs the extras `serving` and `peers`.
"""

import argparse
import dataclasses
import datetime
import importlib.metadata
import math
import os
import pathlib
import tempfile

# Read when TensorFlow is imported; without it TensorFlow is half as fast.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

from benchmarks import asking
from benchmarks import cold_load
from benchmarks import servables

RESULTS = pathlib.Path(__file__).parent / "results"
PACKAGES = ("keras", "tensorflow", "tensorflow-serving-api", "keras-hub")
SERVER, PYTHON = "server", "Python"
PERCENTILES = (50, 90, 99)
# At most so many times the raw weights, and the load of Keras' export.
FILE_TARGET, LOAD_TARGET = 1.05, 1.0

REQUEST_HEAD = [
    "| search | batch | at once | server, requests/s | p50 / p90 / p99, ms | "
    "Python, requests/s | p50 / p90 / p99, ms | server / Python |",
    "| --- " * 8 + "|",
]
FILE_HEAD = [
    "| model | variables, MB | / raw weights | whole folder, MB | / raw "
    "weights | load, ms | first answer, ms |",
    "| --- " * 7 + "|",
]


def request_row(
    search: str, batch: int, concurrency: int, turns: dict[str, dict]
) -> str:
    """One line of the table of requests, from the best turn of each side."""
    cells = []
    for side in (SERVER, PYTHON):
        rate, durations = turns[side]["rate"], turns[side]["durations"]
        times = [asking.percentile(durations, p) for p in PERCENTILES]
        cells.append(f"{rate:,.1f} (of {len(durations)})")
        cells.append(" / ".join(f"{1e3 * time:,.0f}" for time in times))
    cells.append(f"{turns[SERVER]['rate'] / turns[PYTHON]['rate']:.2f}")
    name = servables.title(search).removeprefix("ours, ")
    return f"| {name} | {batch} | {concurrency} | {' | '.join(cells)} |"


def file_table(results: dict[str, dict]) -> list[str]:
    """The folders' sizes and times, and the targets, as markdown."""
    lines = list(FILE_HEAD)
    for name, result in results.items():
        weights = result["weights"]
        cells = [name]
        for part in ("variables", "whole"):
            cells.append(f"{result[part] / 1e6:,.2f}")
            cells.append(f"{result[part] / weights:.3f}")
        # TensorFlow's first line says what; the others, where in the graph.
        refusal = result.get("message", "").partition("\n")[0]
        for part in ("load", "answer"):
            seconds = result.get(part)
            cells.append(
                refusal if seconds is None else f"{1e3 * seconds:,.0f}"
            )
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for name, result in results.items():
        if name.startswith("ours"):
            lines += _met(name, result, results[servables.KERAS])
    return lines


def _met(name, result, keras_export):
    ratios = {
        "variables / raw weights": (
            result["variables"] / result["weights"],
            FILE_TARGET,
        ),
        f"load / {servables.KERAS}": (
            result.get("load", math.inf) / keras_export["load"],
            LOAD_TARGET,
        ),
    }
    for what, (ratio, most) in ratios.items():
        met = "met" if ratio <= most else "NOT met"
        yield f"* {name}, {what}: {ratio:.3f}, target at most {most}: {met}"


def measure_requests(model, tokenizer, prompts, versions, sizes, args):
    """Yield the lines of the table of requests."""
    yield from REQUEST_HEAD
    same = asked = 0
    for search, version in versions.items():
        options = servables.SEARCHES[search]
        python = asking.in_process(model, tokenizer, search, sizes.new, options)
        with asking.served(version.parent) as server:
            sides = {SERVER: server, PYTHON: python}
            for batch in args.batches:
                batches = [
                    prompts[place : place + batch]
                    for place in range(0, len(prompts), batch)
                ]
                # It warms both up, too.
                for texts in batches:
                    pairs = zip(server(texts), python(texts), strict=True)
                    same += sum(mine == other for mine, other in pairs)
                    asked += len(texts)
                for concurrency in args.concurrencies:
                    turns = asking.best_turns(
                        sides,
                        batches,
                        concurrency=concurrency,
                        rounds=args.rounds,
                        requests=args.requests,
                        seconds=args.seconds,
                    )
                    yield request_row(search, batch, concurrency, turns)
    yield ""
    yield f"* Answers that both sides give alike: {same} of {asked}"


def measure(sizes, args):
    """Yield the report line by line, as it is measured."""
    versions = [f"{x} {importlib.metadata.version(x)}" for x in PACKAGES]
    yield from [
        f"# Serving, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores, oneDNN on; {', '.join(versions)}; busy with "
        f"{os.getloadavg()[0]:.1f} other threads at the start, which should be "
        f"near 0. A GPT of {sizes.layers} layers, {sizes.width} wide, with at "
        f"most {sizes.vocabulary:,} words, writes {sizes.new} tokens.",
        "",
    ]
    tokenizer, prompts = servables.tokenizer_and_prompts(sizes)
    model = servables.language_model(tokenizer.vocabulary_size, sizes)
    with tempfile.TemporaryDirectory() as folder:
        versions = {
            search: servables.ours(model, tokenizer, folder, search, sizes)
            for search in args.searches
        }
        if "requests" in args.only:
            yield (
                f"A turn ends after {args.requests} requests or "
                f"{args.seconds:g} seconds; the best of {args.rounds} counts, "
                "with how many requests it had in brackets."
            )
            yield ""
            yield from measure_requests(
                model, tokenizer, prompts, versions, sizes, args
            )
            yield ""
        if "files" in args.only:
            compared = servables.compared(
                model, tokenizer, prompts[0], versions, sizes
            )
            yield (
                "Loaded by the C++ loader with XLA off, as in TF Serving, in "
                f"new processes; the best of {args.loads}. {servables.KERAS} "
                "gives logits alone, and KerasHub takes and gives ids."
            )
            yield ""
            results = cold_load.measure(compared, rounds=args.loads)
            yield from file_table(results)


def main(arguments=None):
    """Measure, print the tables and the targets, and save if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts, searches = ["requests", "files"], list(servables.SEARCHES)
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument(
        "--searches", nargs="+", choices=searches, default=searches
    )
    for name, kind, default, help_text in (
        ("batches", int, [1, 8], "texts of a request"),
        ("concurrencies", int, [1, 4], "requests under way at once"),
        ("requests", int, 200, "after so many a turn ends"),
        ("seconds", float, 3.0, "or after so long"),
        ("rounds", int, 3, "turns of each side"),
        ("loads", int, 5, "new processes for each folder"),
    ):
        parser.add_argument(
            f"--{name}",
            type=kind,
            nargs="+" if isinstance(default, list) else None,
            default=default,
            help=f"{help_text} ({default})",
        )
    fields = dataclasses.fields(servables.Sizes)
    for field in fields:
        parser.add_argument(
            f"--{field.name}",
            type=int,
            default=field.default,
            help=f"size of the model ({field.default})",
        )
    parser.add_argument(
        "--save", action="store_true", help="write to benchmarks/results/"
    )
    args = parser.parse_args(arguments)
    sizes = servables.Sizes(*(getattr(args, each.name) for each in fields))
    lines = []
    for line in measure(sizes, args):
        lines.append(line)
        print(line, flush=True)
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"serving_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
