"""Measure tokenizers beside their peers, and pipelines beside training steps.

    python -m benchmarks.data                    # about 5 minutes
    python -m benchmarks.data --text sentences.txt --save

Text is Python's own documentation unless a file is named; the first half of
its lines is for learning vocabularies, the second is read.
"""

import argparse
import datetime
import importlib.metadata
import os
import pathlib

from benchmarks import pipelines
from benchmarks import stdlib_text
from benchmarks import tokenizers

RESULTS = pathlib.Path(__file__).parent / "results"
PACKAGES = ("keras", "tensorflow", "tensorflow-text", "keras-hub")

# (ours, theirs, at least so many times their lines/s)
TARGETS = [
    ("WordPiece, ours", "WordPiece, tensorflow-text", 0.2),
    ("BPE, ours", "BPE, KerasHub", 1.0),
]
LARGEST_SHARE = 0.1


def tokenizer_table(speeds: dict[str, float]) -> list[str]:
    """The tokenizers' speeds and the targets, as markdown."""
    lines = ["| tokenizer | lines/s |", "| --- | --- |"]
    lines += [f"| {name} | {speed:,.0f} |" for name, speed in speeds.items()]
    lines.append("")
    for ours, theirs, least in TARGETS:
        ratio = speeds[ours] / speeds[theirs]
        met = "met" if ratio >= least else "NOT met"
        lines.append(
            f"* {ours} / {theirs}: {ratio:.2f}, target at least {least}: {met}"
        )
    return lines


def pipeline_table(results: dict[str, dict]) -> list[str]:
    """The pipelines' times and the target, as markdown."""
    lines = [
        "| pipeline | alone, ms | step on ready batches, ms | step on the "
        "pipeline, ms | share | examples/s, alone |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, result in results.items():
        speed = 1e3 * pipelines.BATCH / result["alone"]
        lines.append(
            f"| {name} | {result['alone']:.2f} | {result['ready']:.1f} | "
            f"{result['together']:.1f} | {result['share']:.1%} | {speed:,.0f} |"
        )
    worst = max(result["share"] for result in results.values())
    met = "met" if worst < LARGEST_SHARE else "NOT met"
    lines += ["", f"* Largest share {worst:.1%}, target below 10 %: {met}"]
    return lines


def main():
    """Measure, print the tables and the targets, and save if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--text", help="a file with a sentence on each line")
    parser.add_argument("--vocabulary-size", type=int, default=8_000)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument(
        "--only", nargs="+", choices=["tokenizers", *pipelines.PIPELINES]
    )
    parser.add_argument(
        "--save", action="store_true", help="write to benchmarks/results/"
    )
    args = parser.parse_args()
    chosen = args.only or ["tokenizers", *pipelines.PIPELINES]

    versions = [f"{x} {importlib.metadata.version(x)}" for x in PACKAGES]
    report = [
        f"# Text and data, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores; {', '.join(versions)}. Sides took turns in "
        "one process; the best of several turns counts. Vocabularies of "
        f"{args.vocabulary_size:,} tokens; {args.batch_size} lines at once, "
        "mapped one by one or in parallel, whichever is faster; "
        f"batches of {pipelines.BATCH} examples.",
        "",
    ]
    if "tokenizers" in chosen:
        lines = stdlib_text.sentences()
        if args.text:
            lines = pathlib.Path(args.text).read_text("utf-8").splitlines()
        half = len(lines) // 2
        print(f"Learning from {half:,} lines", flush=True)
        speeds = tokenizers.measure(
            lines[:half],
            lines[half:],
            vocabulary_size=args.vocabulary_size,
            batch_size=args.batch_size,
            rounds=args.rounds,
        )
        report += [*tokenizer_table(speeds), ""]
    results = {}
    for name in pipelines.PIPELINES:
        if name in chosen:
            print(f"Measuring {name}", flush=True)
            results[name] = pipelines.measure(
                name, steps=args.steps, rounds=args.rounds
            )
    if results:
        report += pipeline_table(results)
    text = "\n".join(report) + "\n"
    print(f"\n{text}")
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"data_{datetime.date.today()}.md"
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
