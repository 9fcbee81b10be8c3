"""Measure how fast an exported GPT writes in TF Serving's C++ session.

    python -m benchmarks.served_decoding --save            # about 5 minutes
    python -m benchmarks.served_decoding --write earlier   # of another commit
    python -m benchmarks.served_decoding --before earlier --save

The GPT of `benchmarks.serving` (4 layers, 256 wide, random weights) goes on
from one prompt, or from eight. Each side is a process of its own without Python
TensorFlow; sides take turns, and the best turn counts. XLA is off, as in TF
Serving by default, but for the XLA signatures, and TensorFlow chooses by the
CPU whether it uses oneDNN, unless said. With `--before` folders that another
commit wrote take turns with today's.
"""

import argparse
import contextlib
import dataclasses
import datetime
import importlib.metadata
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import time

import numpy as np

RESULTS = pathlib.Path(__file__).parent / "results"
SEARCHES = ("greedy", "beam")
# (at least so many times the tokens/s of before, search, batch)
TARGETS = ((1.4, "greedy", 1), (1.1, "greedy", 8), (1.0, "beam", 1))
FIRST_ANSWER_SECONDS = 2.5
BEFORE, NOW, XLA = "before", "now", "now, XLA"


@dataclasses.dataclass(frozen=True)
class Side:
    """A process that has loaded a folder.

    Args:
        folder: Holds a folder for each search, with its version in it.
        xla: Whether the XLA signature is asked.
        onednn: Whether TensorFlow is told to use oneDNN, "1" or "0"; None to
            let it choose by the CPU, as a server that is told nothing does.
        verb: The signature that is asked.
    """

    folder: pathlib.Path
    xla: bool = False
    onednn: str | None = None
    verb: str = "generate"

    @contextlib.contextmanager
    def started(self, search: str):
        """Load the model of a search.

        Yields:
            A function (texts, seconds) -> `{"answers", "seconds", "first"}`.
        """
        from keras_attn.export.loader import c_session
        from keras_attn.export.loader import loaded_model
        from keras_attn.export.loader import worker

        (version,) = (self.folder / search).iterdir()
        signatures = loaded_model.read_signatures(
            loaded_model.read_graph(version)
        )
        name = f"{self.verb}_xla" if self.xla else self.verb
        job = {
            "session": c_session.__file__,
            "libraries": worker.libraries(),
            "folder": str(version),
            "disable_xla": not self.xla,
        }
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
        environment.pop("TF_ENABLE_ONEDNN_OPTS", None)
        if self.onednn is not None:
            environment["TF_ENABLE_ONEDNN_OPTS"] = self.onednn
        with subprocess.Popen(
            [sys.executable, __file__, "--answer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        ) as process:

            def ask(texts, seconds):
                request = {"text": np.array(texts, object)}
                feeds, fetches = loaded_model.request(signatures, name, request)
                line = {
                    "feeds": {k: v.tolist() for k, v in feeds.items()},
                    "fetches": fetches,
                    "seconds": seconds,
                }
                print(json.dumps(line), file=process.stdin, flush=True)
                answer = process.stdout.readline()
                if not answer:
                    raise RuntimeError(f"The process of {version} has ended.")
                return json.loads(answer)

            try:
                print(json.dumps(job), file=process.stdin, flush=True)
                yield ask
            finally:
                process.stdin.close()


def answer_requests():
    """Load and answer, in the process that is for it."""
    job = json.loads(sys.stdin.readline())
    # An import would bring Python TensorFlow.
    module = runpy.run_path(job["session"])
    session = module["Session"](
        job["folder"], job["libraries"], disable_xla=job["disable_xla"]
    )
    for line in sys.stdin:
        request = json.loads(line)
        feeds = {k: np.array(v, object) for k, v in request["feeds"].items()}
        print(json.dumps(_timed(session, feeds, request)), flush=True)


def _timed(session, feeds, request):
    start = time.perf_counter()
    session.run(feeds, request["fetches"])
    first = time.perf_counter() - start
    answers, start = 0, time.perf_counter()
    while time.perf_counter() - start < request["seconds"]:
        session.run(feeds, request["fetches"])
        answers += 1
    seconds = time.perf_counter() - start
    return {"answers": answers, "seconds": seconds, "first": first}


def write(folder: pathlib.Path) -> None:
    """Export the model with each search, and XLA signatures beside."""
    from benchmarks import servables
    from keras_attn.export.exporting import export_model

    sizes = servables.Sizes()
    tokenizer, prompts = servables.tokenizer_and_prompts(sizes)
    model = servables.language_model(tokenizer.vocabulary_size, sizes)
    folder.mkdir(parents=True, exist_ok=True)
    for search in SEARCHES:
        export_model(
            model,
            folder / search,
            tokenizer=tokenizer,
            search=search,
            max_length=sizes.new,
            xla=True,
            verify=False,
            **servables.SEARCHES[search],
        )
    (folder / "prompts.json").write_text(json.dumps(prompts))


def measure(sides: dict[str, Side], args) -> dict:
    """Tokens/s and seconds to the first answer, by (search, batch, side)."""
    from benchmarks import servables

    new = servables.Sizes().new
    found = {}
    for search in SEARCHES:
        with contextlib.ExitStack() as stack:
            asked = {
                name: stack.enter_context(side.started(search))
                for name, side in sides.items()
            }
            prompts = json.loads(
                (sides[NOW].folder / "prompts.json").read_text()
            )
            for batch in args.batches:
                for _ in range(args.rounds):
                    for name, ask in asked.items():
                        result = ask(prompts[:batch], args.seconds)
                        rate = result["answers"] * batch * new
                        key = search, batch, name
                        best = found.setdefault(
                            key, {"rate": 0.0, "first": result["first"]}
                        )
                        best["rate"] = max(
                            best["rate"], rate / result["seconds"]
                        )
    return found


def report(found: dict, sides) -> list[str]:
    """The table and the targets, as markdown."""
    lines = [
        "| search | batch | " + " | ".join(sides) + " |",
        "| --- " * (2 + len(sides)) + "|",
    ]
    for search, batch in dict.fromkeys(key[:2] for key in found):
        rates = [found[search, batch, side]["rate"] for side in sides]
        cells = " | ".join(f"{rate:,.0f}" for rate in rates)
        lines.append(f"| {search} | {batch} | {cells} |")
    lines.append("")
    for least, search, batch in TARGETS:
        if (search, batch, BEFORE) in found:
            before = found[search, batch, BEFORE]["rate"]
            ratio = found[search, batch, NOW]["rate"] / before
            met = "met" if ratio >= least else "NOT met"
            lines.append(
                f"* {search}, batch {batch}, now / before: {ratio:.2f}, target "
                f"at least {least}: {met}"
            )
    for (search, batch, side), result in found.items():
        if side in (BEFORE, NOW) and batch == 1:
            met = (
                "met" if result["first"] <= FIRST_ANSWER_SECONDS else "NOT met"
            )
            lines.append(
                f"* {search}, {side}, seconds to the first answer: "
                f"{result['first']:.2f}, target at most "
                f"{FIRST_ANSWER_SECONDS}: {met}"
            )
    return lines


def main(arguments=None):
    """Write folders, or measure, print the table and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", type=pathlib.Path, help="export, then end")
    parser.add_argument(
        "--before", type=pathlib.Path, help="what another commit wrote"
    )
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5, help="turns (5)")
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="of a turn (2)"
    )
    parser.add_argument(
        "--save", action="store_true", help="write to benchmarks/results/"
    )
    args = parser.parse_args(arguments)
    if args.write:
        write(args.write)
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder)
        folders = {BEFORE: args.before} if args.before else {}
        folders[NOW] = folder
        sides = {name: Side(each) for name, each in folders.items()}
        sides[XLA] = Side(folder, xla=True)
        for switch, word in (("1", "on"), ("0", "off")):
            for name, each in folders.items():
                sides[f"{name}, oneDNN {word}"] = Side(each, onednn=switch)
        found = measure(sides, args)
    version = importlib.metadata.version("tensorflow")
    lines = [
        f"# Served decoding, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores; tensorflow {version}; busy with "
        f"{os.getloadavg()[0]:.1f} threads at the end. Tokens/s of a GPT of 4 "
        "layers, 256 wide, that writes 32 tokens, in the C++ session.",
        "",
        *report(found, list(sides)),
    ]
    print("\n".join(lines))
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"served_decoding_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--answer"]:
        answer_requests()
    else:
        main()
