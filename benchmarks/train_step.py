"""Measure whole training steps beside KerasHub's layers and torch.

    python -m benchmarks.train_step
    python -m benchmarks.train_step --length 128 --rounds 1

A step is forward, loss, backward and Adam, on random ids: an encoder-decoder
and a decoder alone, 6 layers, 512 wide, 8 heads, vocabulary 8,000, batch 4,
without dropout. Each side runs in a process of its own, in turns.
"""

import argparse
import datetime
import functools
import json
import os
import pathlib
import subprocess
import sys

# Read when TensorFlow is imported; without it TensorFlow is half as fast.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import numpy as np

RESULTS = pathlib.Path(__file__).parent / "results"
LAYERS, WIDTH, HEADS, VOCABULARY, BATCH = 6, 512, 8, 8000, 4
SIDES = ("ours", "KerasHub", "torch")
KINDS = ("encoder_decoder", "gpt")
# Ours / KerasHub, at most.
TIME_TARGET, MEMORY_TARGET = 0.9, 0.6


def batch(length):
    """Random ids for source, target and labels; 0 is left for padding."""
    rng = np.random.default_rng(0)
    shape = (3, BATCH, length)
    return rng.integers(1, VOCABULARY, size=shape, dtype="int32")


def ours(kind, length):
    """A function that trains our model by one step."""
    from keras_attn import models

    sizes = dict(num_layers=LAYERS, num_heads=HEADS, units=WIDTH, dropout=0.0)
    source, target, labels = batch(length)
    if kind == "gpt":
        model = models.GPT(VOCABULARY, max_length=length, **sizes)
        return keras_step(model, target, labels)
    model = models.Transformer(VOCABULARY, **sizes)
    return keras_step(model, {"source": source, "target": target}, labels)


def keras_hub(kind, length):
    """The same stack, made of KerasHub's layers."""
    import keras
    import keras_hub

    def tokens(name):
        return keras.Input((length,), dtype="int32", name=name)

    embed = keras_hub.layers.TokenAndPositionEmbedding(
        VOCABULARY, length, WIDTH, mask_zero=True
    )
    sizes = dict(intermediate_dim=4 * WIDTH, num_heads=HEADS)
    if kind == "gpt":
        # As GPT-2 and our own.
        sizes["activation"] = functools.partial(
            keras.activations.gelu, approximate=True
        )
    source, target, labels = batch(length)
    inputs = {"target": tokens("target")}
    values = {"target": target}
    y, memory = embed(inputs["target"]), ()
    if kind == "encoder_decoder":
        inputs["source"], values["source"] = tokens("source"), source
        x = embed(inputs["source"])
        for _ in range(LAYERS):
            x = keras_hub.layers.TransformerEncoder(**sizes)(x)
        memory = (x,)
    for _ in range(LAYERS):
        y = keras_hub.layers.TransformerDecoder(**sizes)(y, *memory)
    logits = embed.token_embedding(y, reverse=True)
    return keras_step(keras.Model(inputs, logits), values, labels)


def keras_step(model, inputs, labels):
    """Compile, and return a function that trains on one batch."""
    import keras

    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    return lambda: model.train_on_batch(inputs, labels)


def torch(kind, length):
    """The same stack, made of torch's layers."""
    import torch
    from torch import nn

    torch.set_num_threads(os.cpu_count())
    sizes = dict(
        d_model=WIDTH,
        nhead=HEADS,
        dim_feedforward=4 * WIDTH,
        dropout=0.0,
        activation=nn.GELU("tanh") if kind == "gpt" else "relu",
        batch_first=True,
    )
    source, target, labels = (torch.tensor(x).long() for x in batch(length))
    embed = nn.Embedding(VOCABULARY, WIDTH)
    places = nn.Parameter(torch.zeros(length, WIDTH))
    causal = nn.Transformer.generate_square_subsequent_mask(length)
    if kind == "gpt":
        layer = nn.TransformerEncoderLayer(**sizes)
        stack = nn.TransformerEncoder(layer, LAYERS)
    else:
        stack = nn.Transformer(
            num_encoder_layers=LAYERS, num_decoder_layers=LAYERS, **sizes
        )
    weights = [*embed.parameters(), places, *stack.parameters()]
    optimizer = torch.optim.Adam(weights)

    def step():
        optimizer.zero_grad()
        y = embed(target) + places
        if kind == "gpt":
            y = stack(y, mask=causal, is_causal=True)
        else:
            x = embed(source) + places
            y = stack(x, y, tgt_mask=causal, tgt_is_causal=True)
        logits = y @ embed.weight.T
        loss = nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY), labels.reshape(-1)
        )
        loss.backward()
        optimizer.step()

    return step


def measure(side, kind, length, steps):
    """Best milliseconds of a step, and megabytes at the process's peak."""
    from benchmarks.measure import megabytes
    from benchmarks.measure import time_steps

    make = {"ours": ours, "KerasHub": keras_hub, "torch": torch}[side]
    step = make(kind, length)
    before = megabytes("VmRSS")
    best = time_steps({side: step}, rounds=steps, seconds=0.0)[side]
    return {"milliseconds": best, "megabytes": megabytes("VmHWM") - before}


def in_its_own_process(side, kind, length, steps):
    """Measure where no other side has left anything in memory."""
    command = [sys.executable, "-m", "benchmarks.train_step"]
    command += ["--measure", side, kind, str(length), str(steps)]
    child = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(child.stdout.splitlines()[-1])


def row(kind, length, results):
    """One line of the table, with the ratios to KerasHub."""
    cells = " | ".join(
        f"{results[side]['milliseconds']:,.0f} ms, "
        f"{results[side]['megabytes']:,.0f} MB"
        for side in SIDES
    )
    ratios = " | ".join(
        f"{results['ours'][what] / results['KerasHub'][what]:.2f}"
        for what in ("milliseconds", "megabytes")
    )
    return f"| {kind} | {length} | {cells} | {ratios} |"


def main():
    """Measure, print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        side, kind, length, steps = args.measure
        print(json.dumps(measure(side, kind, int(length), int(steps))))
        return
    lines = [
        f"# Training steps, {datetime.date.today()}",
        "",
        f"{os.cpu_count()} cores, oneDNN on. Milliseconds of a step, and "
        "megabytes that the steps added to the process at its peak. Targets, "
        f"ours / KerasHub: time {TIME_TARGET}, memory {MEMORY_TARGET}.",
        "",
        f"| model | tokens | {' | '.join(SIDES)} | time / KerasHub | memory / "
        "KerasHub |",
        "| --- " * (len(SIDES) + 4) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    for kind in args.kinds:
        results = {}
        for _ in range(args.rounds):
            for side in SIDES:
                new = in_its_own_process(side, kind, args.length, args.steps)
                old = results.get(side, new)
                results[side] = {key: min(old[key], new[key]) for key in new}
        lines.append(row(kind, args.length, results))
        print(lines[-1], flush=True)
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"train_step_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
