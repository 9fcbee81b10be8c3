"""Ask the compilers of a TPU and a GPU what whole models need there.

    python -m benchmarks.accelerator             # hours: TPU compilers are slow
    python -m benchmarks.accelerator --layers 2 --targets a100
    python -m benchmarks.accelerator --models "GPT-2 small" --save

A training step is forward, loss, backward and Adam in mixed_bfloat16; a decode
step is one token for each row, after a prompt as long as what may follow.
No chip is needed, and none is measured: memory is what the compiler reserves.
"""

import argparse
import datetime
import importlib.metadata
import pathlib

import keras
import tensorflow as tf

from keras_attn import models
from keras_attn import training
from keras_attn.training.accelerator.check import AcceleratorCheck

RESULTS = pathlib.Path(__file__).parent / "results"
TARGETS = ("v5e", "a100")
PACKAGES = ("keras", "tensorflow", "jax", "libtpu")
# Class, preset, arguments, names of the inputs, rows, tokens of a row.
MODELS = {
    "Transformer base": (
        models.Transformer,
        "base",
        {"vocabulary_size": 37_000},
        ("source", "target"),
        64,
        128,
    ),
    "GPT-2 small": (models.GPT, "gpt2", {}, (), 8, 1024),
    "BERT base": (
        models.BERT,
        "base",
        {"head": "masked_lm"},
        ("tokens", "segments"),
        32,
        128,
    ),
    # Pretraining with as many regions as tokens, and a GPU's share of the
    # paper's batch of 512.
    "ViLBERT base-6": (
        models.ViLBERT,
        "base-6",
        {"head": "pretraining"},
        ("tokens", "segments"),
        64,
        36,
    ),
    # Images of 224 pixels: 196 patches and the class token.
    "ViT-B/16": (models.ViT, "b16", {}, (), 64, 197),
    # Images of 128 pixels, whose grid of 32 × 32 attends to itself.
    "SAGAN 128": (models.SAGAN, "imagenet-128", {}, (), 64, 1024),
}
TITLES = (
    "model",
    "step",
    "rows × tokens",
    "chip",
    "fits",
    "arguments, GiB",
    "temporary, GiB",
    "total, GiB",
    "compiled in, s",
)


def make(name: str, **overrides):
    """A compiled model in mixed_bfloat16, and the spec of its batches.

    Args:
        name: A key of `MODELS`.
        overrides: Arguments of the model that replace those of its preset.
    """
    model_class, preset, options, names, rows, tokens = MODELS[name]
    if model_class is models.ViLBERT:
        return make_vilbert(preset, rows, tokens, **options, **overrides)
    keras.utils.clear_session()  # the last model's weights and moments
    if model_class is models.SAGAN:
        # Its depth follows from the images' size, and it has no dropout.
        overrides = {
            key: value
            for key, value in overrides.items()
            if key not in ("num_layers", "dropout")
        }
    model = model_class.from_preset(
        preset, **{**options, "dtype": "mixed_bfloat16", **overrides}
    )
    labels = tf.TensorSpec((rows,), "int32")
    if model_class is models.ViT:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer="adam", loss=loss)
        return model, (tf.TensorSpec((rows, *model.input_shape[1:])), labels)
    if model_class is models.SAGAN:
        model.compile()  # its own two Adams
        return model, (
            tf.TensorSpec((rows, *model.generator.output_shape[1:])),
            labels,
        )
    model.compile(optimizer="adam", loss=training.MaskedCrossentropy())
    ids = tf.TensorSpec((rows, tokens), "int32")
    return model, (dict.fromkeys(names, ids) or ids, ids)


def make_vilbert(preset: str, rows: int, tokens: int, **options):
    """A ViLBERT with its three losses, and the spec of its batches."""
    keras.utils.clear_session()
    if "num_layers" in options:
        # A layer of the regions and a co-attention for each of the text.
        options["num_region_layers"] = options["num_layers"]
        options["co_attention_at"] = None
    model = models.ViLBERT.from_preset(
        preset, **{"dtype": "mixed_bfloat16", **options}
    )
    scores = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    losses = {
        "masked_lm": training.MaskedCrossentropy(),
        "masked_regions": training.MaskedDivergence(),
        "alignment": scores,
    }
    model.compile(optimizer="adam", loss=losses)
    ids = tf.TensorSpec((rows, tokens), "int32")
    inputs = {"tokens": ids, "segments": ids}
    inputs |= {
        name: tf.TensorSpec((rows, tokens, model.input[name].shape[-1]))
        for name in ("features", "boxes")
    }
    classes = model.output["masked_regions"].shape[-1]
    labels = {
        "masked_lm": ids,
        "masked_regions": tf.TensorSpec((rows, tokens, classes)),
        "alignment": tf.TensorSpec((rows,), "int32"),
    }
    return model, (inputs, labels)


def check(name: str, target: str, *, step: str = "training", **overrides):
    """What one compiler says of one step of one model."""
    model, batch = make(name, **overrides)
    options = {"step": step}
    if step == "decode":
        rows, tokens = MODELS[name][-2:]
        batch = tf.TensorSpec((rows, tokens // 2), "int32")
        options["max_length"] = tokens // 2
    return training.accelerator_check_model(
        model, batch, target=target, **options
    )


def row(name: str, step: str, answer: AcceleratorCheck) -> str:
    """One line of the table."""
    rows, tokens = MODELS[name][-2:]
    sizes = (
        answer.argument_bytes,
        answer.temporary_bytes,
        answer.total_bytes,
    )
    cells = [
        name,
        step,
        f"{rows} × {tokens:,}",
        answer.target,
        "yes" if answer.fits else "no",
        *("–" if size is None else f"{size / 2**30:.2f}" for size in sizes),
        f"{answer.compile_seconds:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main():
    """Compile, print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--layers", type=int, help="not the whole depth")
    parser.add_argument("--dropout", type=float, help="not the preset's")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    overrides = {"num_layers": args.layers, "dropout": args.dropout}
    overrides = {k: v for k, v in overrides.items() if v is not None}
    versions = [f"{x} {importlib.metadata.version(x)}" for x in PACKAGES]
    lines = [
        f"# Whole models on accelerators, {datetime.date.today()}",
        "",
        f"{', '.join(versions)}; mixed_bfloat16, Adam with float32 moments"
        + "".join(f", {k}={v}" for k, v in overrides.items())
        + ".",
        "",
        f"| {' | '.join(TITLES)} |",
        "| --- " * len(TITLES) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    for name in args.models:
        steps = ["training"]
        if name == "GPT-2 small":
            steps.append("decode")
        for step in steps:
            for target in args.targets:
                answer = check(name, target, step=step, **overrides)
                lines.append(row(name, step, answer))
                print(lines[-1], flush=True)
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"accelerator_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
