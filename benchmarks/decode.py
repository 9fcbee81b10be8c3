"""Measure decoding beside KerasHub's GPT-2 and Hugging Face transformers.

    python -m benchmarks.decode
    python -m benchmarks.decode --shapes small --batches 1 8 --save

Random weights, prompts of 32 tokens, 64 new ones, no row ends early: tokens
for each second, all rows counted. Sides take turns in one process.
"""

import argparse
import datetime
import importlib.metadata
import os
import pathlib

# Read when TensorFlow is imported; without it TensorFlow is half as fast.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import keras
import numpy as np
import tensorflow as tf

from benchmarks.measure import time_steps
from keras_attn import decoding
from keras_attn import models

RESULTS = pathlib.Path(__file__).parent / "results"
PROMPT, NEW = 32, 64
NO_END = -1
SHAPES = {
    "gpt2": dict(vocabulary=50257, layers=12, heads=12, width=768),
    "small": dict(vocabulary=8000, layers=4, heads=4, width=256),
}
# At least so many times the better of the two peers.
TARGETS = {"gpt2": 1.3, "small": 2.0}
PACKAGES = ("keras", "tensorflow", "torch", "keras-hub", "transformers")


def ours(shape, prompts, beams, *, jit_compile):
    """A function that decodes once with this library."""
    model = models.GPT(
        shape["vocabulary"],
        num_layers=shape["layers"],
        num_heads=shape["heads"],
        units=shape["width"],
        pad_id=None,
        dropout=0.0,
    )
    search = dict(search="beam", width=beams) if beams > 1 else {}

    @tf.function(jit_compile=jit_compile)
    def decode(tokens):
        return decoding.generate(
            model, tokens, max_length=NEW, end_id=NO_END, **search
        )

    tokens = tf.constant(prompts)
    return lambda: tf.nest.map_structure(np.array, decode(tokens))


def keras_hub(shape, prompts, beams):
    """A function that decodes once with KerasHub, which uses XLA."""
    import keras_hub

    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=shape["vocabulary"],
        num_layers=shape["layers"],
        num_heads=shape["heads"],
        hidden_dim=shape["width"],
        intermediate_dim=4 * shape["width"],
        dropout=0.0,
    )
    model = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
    samplers = keras_hub.samplers
    sampler = samplers.BeamSampler(num_beams=beams) if beams > 1 else "greedy"
    model.compile(sampler=sampler, jit_compile=True)
    inputs = {
        "token_ids": np.pad(prompts, ((0, 0), (0, NEW))),
        "padding_mask": np.pad(np.ones_like(prompts), ((0, 0), (0, NEW))),
    }
    return lambda: model.generate(inputs, stop_token_ids=None)


def transformers(shape, prompts, beams):
    """A function that decodes once with transformers on torch."""
    import torch
    import transformers

    torch.set_num_threads(os.cpu_count())
    config = transformers.GPT2Config(
        vocab_size=shape["vocabulary"],
        n_layer=shape["layers"],
        n_head=shape["heads"],
        n_embd=shape["width"],
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    tokens = torch.tensor(prompts, dtype=torch.long)
    options = dict(min_new_tokens=NEW, max_new_tokens=NEW, do_sample=False)

    @torch.no_grad()
    def decode():
        return model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            num_beams=beams,
            **options,
        )

    return decode


def measure(shape, batch, beams, rounds, only):
    """Tokens for each second of each side."""
    prompts = np.random.default_rng(0).integers(
        1, SHAPES[shape]["vocabulary"], size=(batch, PROMPT), dtype="int32"
    )
    args = (SHAPES[shape], prompts, beams)
    sides = {
        "ours": lambda: ours(*args, jit_compile=False),
        "ours, XLA": lambda: ours(*args, jit_compile=True),
        "KerasHub": lambda: keras_hub(*args),
        "transformers": lambda: transformers(*args),
    }
    steps = {name: make() for name, make in sides.items() if name in only}
    best = time_steps(steps, rounds=rounds, seconds=2.0)
    keras.utils.clear_session()
    return {name: batch * NEW / (ms / 1e3) for name, ms in best.items()}


def row(shape, batch, beams, speeds):
    """One line of the table, with the ratio to the better peer."""
    mine = max(speed for name, speed in speeds.items() if "ours" in name)
    peers = [speed for name, speed in speeds.items() if "ours" not in name]
    cells = " | ".join(f"{speed:,.1f}" for speed in speeds.values())
    ratio = f"{mine / max(peers):.2f}" if peers else ""
    search = f"beam-{beams}" if beams > 1 else "greedy"
    target = TARGETS[shape]
    return f"| {shape} | {search} | {batch} | {cells} | {ratio} | {target} |"


def main():
    """Measure, print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    sides = ["ours", "ours, XLA", "KerasHub", "transformers"]
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--only", nargs="+", choices=sides, default=sides)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    versions = [f"{x} {importlib.metadata.version(x)}" for x in PACKAGES]
    lines = [
        f"# Decoding, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores, oneDNN on; {', '.join(versions)}. Prompts of "
        f"{PROMPT} tokens, {NEW} new ones; tokens for each second.",
        "",
        f"| shape | search | batch | {' | '.join(args.only)} | best of ours / "
        "best peer | target |",
        "| --- " * (len(args.only) + 5) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    for shape in args.shapes:
        for beams in args.beams:
            for batch in args.batches:
                speeds = measure(shape, batch, beams, args.rounds, args.only)
                lines.append(row(shape, batch, beams, speeds))
                print(lines[-1], flush=True)
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"decode_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
