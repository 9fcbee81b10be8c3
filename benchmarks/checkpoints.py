"""Measure what becomes of Hugging Face folders beside transformers itself.

    python -m benchmarks.checkpoints --save           # about half an hour
    python -m benchmarks.checkpoints --models t5 --batches 1 --rounds 2

A Llama-shaped model (8 layers of 512, 4 key heads, 32,000 ids) and one shaped
as T5-small, random weights, prompts of 32 tokens, 64 new ones and no end
before, greedy and by 4 beams as transformers keeps them: tokens/s, all rows
counted. Ours in Python compiled by XLA, ours as the command exports it in the
C++ session without XLA (text to text, in a process of its own), transformers
on torch. Sides take turns, and the best turn counts. Then tokenizing on one
core, beside `tokenizers`.
"""

import argparse
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
    torch.set_num_threads(os.cpu_count())
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


def measure(folder, beams, sizes, args, destination) -> dict:
    """Tokens/s by (batch, side), each the best of its turns."""
    texts = json.loads((folder / "prompts.json").read_text())
    export(folder, destination / f"beam-{beams}", beams)
    side = Side(destination, verb=VERBS[folder.name])
    found = {}
    with side.started(f"beam-{beams}") as ask:
        for batch in args.batches:
            prompts = texts[:batch]
            steps = {
                XLA: ours(folder, prompts, beams),
                PEER: transformers(folder, prompts, beams),
            }
            for step in steps.values():
                step()  # compiles
            for _ in range(args.rounds):
                turns = {
                    name: _turn(step, args.seconds)
                    for name, step in steps.items()
                }
                result = ask(prompts, args.seconds)
                turns[SERVED] = result["answers"] / result["seconds"]
                for name, calls in turns.items():
                    rate = calls * batch * sizes.new
                    key = batch, name
                    found[key] = max(found.get(key, 0.0), rate)
    return found


def _turn(step, seconds):
    """Calls for each second, of at least one call."""
    calls, start = 0, time.perf_counter()
    while not calls or time.perf_counter() - start < seconds:
        step()
        calls += 1
    return calls / (time.perf_counter() - start)


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
        "tokenizers": lambda: [theirs.encode_batch(part) for part in parts],
    }
    best = {}
    for name, step in list(steps.items()) * (rounds + 1):
        rate = _turn(step, 0.0) * len(lines)
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
    for batch in dict.fromkeys(batch for batch, _ in found):
        peer = found[batch, PEER]
        cells = [f"{found[batch, side]:,.0f}" for side in (XLA, SERVED, PEER)]
        for side in (XLA, SERVED):
            cells.append(_ratio(found[batch, side] / peer, (side, batch)))
        lines.append(f"| {model} | {search} | {batch} | {' | '.join(cells)} |")
    return lines


def _ratio(ratio, key):
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


def run(args, sizes, folder) -> list[str]:
    """Measure everything; the report, as markdown."""
    checkpoint_folders.write(folder, sizes)
    versions = [f"{x} {importlib.metadata.version(x)}" for x in PACKAGES]
    lines = [
        f"# Checkpoints, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores; {', '.join(versions)}. Prompts of "
        f"{sizes.prompt} tokens, {sizes.new} new ones; tokens/s, and beside "
        "each ratio to transformers its target.",
        "",
        f"| model | search | batch | {XLA} | {SERVED} | {PEER} | XLA / "
        "transformers | served / transformers |",
        "| --- " * 8 + "|",
    ]
    print(*lines, sep="\n", flush=True)
    for model in args.models:
        for beams in args.beams:
            found = measure(
                folder / model, beams, sizes, args, folder / f"served-{model}"
            )
            rows = decoding_rows(model, beams, found)
            print(*rows, sep="\n", flush=True)
            lines += rows
    table = [
        "",
        "Tokenizing on one core, lines/s:",
        "",
        "| tokenizer | ours | tokenizers | ours / tokenizers |",
        "| --- " * 4 + "|",
        *(
            tokenizing_row(model, on_one_core(folder / model, args.rounds))
            for model in args.models
        ),
    ]
    print(*table, sep="\n", flush=True)
    load = f"Busy with {os.getloadavg()[0]:.1f} threads at the end."
    return [*lines, *table, "", load]


def main(arguments=None, sizes=None):
    """Measure, print the tables, and save them if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", nargs="+", default=list(VERBS))
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--tokenize", type=pathlib.Path, help="one folder")
    args = parser.parse_args(arguments)
    if args.tokenize:
        print(json.dumps(tokenize(args.tokenize, args.rounds)))
        return
    sizes = sizes or checkpoint_folders.Sizes()
    with tempfile.TemporaryDirectory() as folder:
        lines = run(args, sizes, pathlib.Path(folder))
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
