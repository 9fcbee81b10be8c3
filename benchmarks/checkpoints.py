"""Measure what becomes of Hugging Face folders beside transformers itself.

    python -m benchmarks.checkpoints --save

or in pieces of some minutes, whose folder keeps what was measured:

    python -m benchmarks.checkpoints --folder /tmp/checkpoints --models t5 \\
        --beams 1 --only decoding
    python -m benchmarks.checkpoints --folder /tmp/checkpoints --only report \\
        --save

A Llama-shaped model (8 layers of 512, 4 key heads, 32,000 ids) and one shaped
as T5-small, random weights, prompts of 32 tokens, 64 new ones and no end
before, greedy and by 4 beams as transformers keeps them: tokens/s, all rows
counted. Ours in Python compiled by XLA, ours as the command exports it in the
C++ session without XLA (text to text, in a process of its own), transformers
on torch. Sides take turns call by call, and the best call counts. Then
tokenizing on one core, beside `tokenizers`. On a busy machine torch's calls
were seen to take several times as long, and ours not: put `taskset -c 0` before
the command, and each side has one core.
"""

import argparse
import contextlib
import dataclasses
import datetime
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from benchmarks import checkpoint_folders
from benchmarks.served_decoding import Side

RESULTS = pathlib.Path(__file__).parent / "results"
PACKAGES = ("tensorflow", "keras", "torch", "transformers", "tokenizers")
XLA, SERVED, PEER = "ours, XLA", "ours, served", "transformers"
SIDES = {"xla": XLA, "served": SERVED, "transformers": PEER}
VERBS = {"llama": "generate", "t5": "translate"}
# At least so many times transformers' tokens/s, by side and batch.
TARGETS = {(XLA, 1): 1.6, (XLA, 8): 1.6, (SERVED, 1): 1.2, (SERVED, 8): 1.0}
# At least so many times the lines/s of `tokenizers`.
TOKENIZING = {"llama": ("BPE", 0.2), "t5": ("Unigram", 0.1)}


def ours(folder, prompts, beams):
    """A function that decodes once in Python, compiled by XLA."""
    import numpy as np
    import tensorflow as tf

    from keras_attn import decoding
    from keras_attn import models

    model = models.from_huggingface(folder)
    settings = decoding.search_settings(
        _generation(folder, beams),
        json.loads((folder / "config.json").read_text()),
    )
    rows = tf.constant(_ids(folder, prompts), tf.int32)
    inputs = rows if "llama" in folder.name else {"source": rows}

    @tf.function(jit_compile=True)
    def decode(inputs):
        return decoding.generate(model, inputs, **settings)

    return lambda: tf.nest.map_structure(np.array, decode(inputs))


def transformers(folder, prompts, beams):
    """A function that decodes once with transformers on torch."""
    import torch

    library = checkpoint_folders.transformers()
    torch.set_num_threads(_cores())
    config = library.AutoConfig.from_pretrained(folder)
    cls = getattr(library, config.architectures[0])
    model = cls.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = torch.tensor(_ids(folder, prompts))
    mask = torch.ones_like(tokens)

    @torch.no_grad()
    def decode():
        return model.generate(tokens, attention_mask=mask, num_beams=beams)

    return decode


def _ids(folder, prompts):
    library = checkpoint_folders.transformers()
    return library.AutoTokenizer.from_pretrained(folder)(prompts)["input_ids"]


def _generation(folder, beams):
    config = json.loads((folder / "generation_config.json").read_text())
    return config | {"num_beams": beams}


def export(folder, destination, beams):
    """Write what the command writes, with a search of its own."""
    from keras_attn.export import export_huggingface

    path = folder / "generation_config.json"
    before = path.read_text()
    path.write_text(json.dumps(_generation(folder, beams)))
    try:
        export_huggingface(folder, destination, verify=False, warmup=False)
    finally:
        path.write_text(before)


def measure(folder, beams, batches, args, new) -> dict:
    """Tokens/s by (batch, side), each of its best call."""
    texts = json.loads((folder / "prompts.json").read_text())
    makers = {XLA: ours, PEER: transformers}
    best = {}
    with contextlib.ExitStack() as stack:
        if SERVED in args.sides:
            makers[SERVED] = stack.enter_context(served(folder, beams))
        for batch in batches:
            steps = {
                side: makers[side](folder, texts[:batch], beams)
                for side in args.sides
            }
            # The first round compiles.
            for number in range(args.rounds + 1):
                for side, step in steps.items():
                    seconds = step() if side == SERVED else _seconds(step)
                    if number:
                        rate = batch * new / seconds
                        key = batch, side
                        best[key] = max(best.get(key, 0.0), rate)
    return best


@contextlib.contextmanager
def served(folder, beams):
    """Export, and load in a process without Python TensorFlow.

    Yields:
        As `ours`, but its function gives the seconds that the session took.
    """
    with tempfile.TemporaryDirectory() as destination:
        destination = pathlib.Path(destination)
        export(folder, destination / "model", beams)
        side = Side(destination, verb=VERBS[folder.name])
        with side.started("model") as ask:
            yield lambda _, prompts, __: lambda: ask(prompts, 0.0)["first"]


def _seconds(step):
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def _cores():
    return len(os.sched_getaffinity(0))


def tokenize(folder: pathlib.Path, rounds: int) -> dict[str, float]:
    """Lines/s of ours and of `tokenizers`, for a process with one core."""
    import tensorflow as tf
    import tokenizers

    from keras_attn.text import Tokenizer

    lines = json.loads((folder.parent / "lines.json").read_text())
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer = Tokenizer.from_huggingface(folder)
    cut = tf.function(
        lambda texts: tokenizer(texts).flat_values,
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    parts = [lines[i : i + 512] for i in range(0, len(lines), 512)]
    batches = [tf.constant(part) for part in parts]
    steps = {
        "ours": lambda: [cut(batch) for batch in batches],
        # As ours: no offsets, and no tokens of the template.
        "tokenizers": lambda: [
            theirs.encode_batch_fast(part, add_special_tokens=False)
            for part in parts
        ],
    }
    best = {}
    for name, step in list(steps.items()) * (rounds + 1):
        rate = len(lines) / _seconds(step)
        best[name] = max(best.get(name, 0.0), rate)
    return best


def on_one_core(folder, rounds) -> dict[str, float]:
    """`tokenize` in a process of its own that has one core."""
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "benchmarks.checkpoints", "--tokenize"]
    ran = subprocess.run(
        [*words, str(folder), "--rounds", str(rounds)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[-1])


def decoding_rows(model, beams, found) -> list[str]:
    """Lines of the table, with the ratios to transformers and the targets."""
    search = f"beam-{beams}" if beams > 1 else "greedy"
    lines = []
    for batch in sorted({batch for batch, _ in found}):
        rates = {side: found.get((batch, side)) for side in (XLA, SERVED, PEER)}
        cells = [f"{rate:,.0f}" if rate else "–" for rate in rates.values()]
        for side in (XLA, SERVED):
            both = rates[side] and rates[PEER]
            ratio = rates[side] / rates[PEER] if both else None
            cells.append(_ratio(ratio, (side, batch)))
        lines.append(f"| {model} | {search} | {batch} | {' | '.join(cells)} |")
    return lines


def _ratio(ratio, key):
    if ratio is None:
        return "–"
    least = TARGETS.get(key)
    if least is None:
        return f"{ratio:.2f}"
    met = "met" if ratio >= least else "NOT met"
    return f"{ratio:.2f} ({least}: {met})"


def tokenizing_row(model, speeds) -> str:
    """A line of the second table."""
    kind, least = TOKENIZING[model]
    ratio = speeds["ours"] / speeds["tokenizers"]
    met = "met" if ratio >= least else "NOT met"
    cells = [f"{speeds[side]:,.0f}" for side in ("ours", "tokenizers")]
    return f"| {kind} | {' | '.join(cells)} | {ratio:.2f} ({least}: {met}) |"


class Measured:
    """What was measured so far, in a folder that may be kept.

    Args:
        folder: Holds the checkpoints too, which are written if it is new.
        sizes: Of the checkpoints; a folder of others is refused.
    """

    def __init__(self, folder: pathlib.Path, sizes):
        self.folder = folder
        self.sizes = sizes
        self._path = folder / "measured.json"
        told = dataclasses.asdict(sizes)
        if not self._path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            checkpoint_folders.write(folder, sizes)
            # The last file: without it, writing was interrupted.
            self._write({"sizes": told, "decoding": [], "tokenizing": []})
        content = json.loads(self._path.read_text())
        if content.pop("sizes") != told:
            raise ValueError(
                f"{folder} holds checkpoints of other sizes. Choose a new "
                "--folder."
            )
        # The last of equal names was measured last.
        self.decoding = {tuple(k): v for *k, v in content["decoding"]}
        self.tokenizing = dict(content["tokenizing"])

    def save(self) -> None:
        """Write all to the folder."""
        self._write(
            {
                "sizes": dataclasses.asdict(self.sizes),
                "decoding": [[*k, v] for k, v in self.decoding.items()],
                "tokenizing": [*self.tokenizing.items()],
            }
        )

    def _write(self, content):
        self._path.write_text(json.dumps(content, indent=1))

    def report(self) -> list[str]:
        """Both tables, as markdown."""
        versions = [f"{x} {importlib.metadata.version(x)}" for x in PACKAGES]
        sizes = self.sizes
        lines = [
            f"# Checkpoints, {datetime.date.today()}",
            "",
            f"{_cores()} cores; {', '.join(versions)}; busy with "
            f"{os.getloadavg()[0]:.1f} threads at the end. Prompts of "
            f"{sizes.prompt} tokens, {sizes.new} new ones; tokens/s of the "
            "best call, and beside each ratio to transformers its target.",
            "",
            f"| model | search | batch | {XLA} | {SERVED} | {PEER} | XLA / "
            "transformers | served / transformers |",
            "| --- " * 8 + "|",
        ]
        for model, beams in sorted({key[:2] for key in self.decoding}):
            found = {
                key[2:]: rate
                for key, rate in self.decoding.items()
                if key[:2] == (model, beams)
            }
            lines += decoding_rows(model, beams, found)
        lines += [
            "",
            "Tokenizing on one core, lines/s:",
            "",
            "| tokenizer | ours | tokenizers | ours / tokenizers |",
            "| --- " * 4 + "|",
        ]
        for model, speeds in sorted(self.tokenizing.items()):
            lines.append(tokenizing_row(model, speeds))
        return lines


def run(args, measured) -> None:
    """Measure what is asked for, and keep it."""
    if args.only in (None, "decoding"):
        for model in args.models:
            for beams in args.beams:
                found = measure(
                    measured.folder / model,
                    beams,
                    args.batches,
                    args,
                    measured.sizes.new,
                )
                for key, rate in found.items():
                    measured.decoding[(model, beams, *key)] = rate
                measured.save()
                print(*decoding_rows(model, beams, found), sep="\n", flush=True)
    if args.only in (None, "tokenizing"):
        for model in args.models:
            speeds = on_one_core(measured.folder / model, args.rounds)
            measured.tokenizing[model] = speeds
            measured.save()


def main(arguments=None, sizes=None):
    """Measure, print the tables, and save them if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--models", nargs="+", choices=VERBS, default=list(VERBS)
    )
    parser.add_argument(
        "--beams", nargs="+", type=int, default=[1, 4], help="1 is greedy"
    )
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8])
    parser.add_argument(
        "--sides", nargs="+", choices=SIDES, default=list(SIDES)
    )
    parser.add_argument("--only", choices=("decoding", "tokenizing", "report"))
    parser.add_argument(
        "--rounds", type=int, default=5, help="calls of each side (5)"
    )
    parser.add_argument("--new", type=int, help="tokens to write (64)")
    parser.add_argument(
        "--folder", type=pathlib.Path, help="keeps what was measured"
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--tokenize", type=pathlib.Path, help="one folder")
    args = parser.parse_args(arguments)
    if args.tokenize:
        print(json.dumps(tokenize(args.tokenize, args.rounds)))
        return
    args.sides = [SIDES[side] for side in args.sides]
    sizes = sizes or checkpoint_folders.Sizes()
    if args.new:
        sizes = dataclasses.replace(sizes, new=args.new)
    with tempfile.TemporaryDirectory() as folder:
        measured = Measured(args.folder or pathlib.Path(folder) / "all", sizes)
        run(args, measured)
        lines = measured.report()
    print(*lines, sep="\n")
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"checkpoints_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    if "--tokenize" in sys.argv:
        # Before TensorFlow counts its cores.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    main()
