"""Ask the compilers of TPUs and GPUs what whole models need there.

    make accelerator-table                       # hours: TPU compilers are slow
    python -m benchmarks.accelerator --layers 2 --targets a100
    python -m benchmarks.accelerator --models "GPT-2 small" --save

A training step is forward, loss, backward and Adam in mixed_bfloat16; a decode
step is one token for each row, after a prompt as long as what may follow.
No chip is needed, and none is measured: memory is what the compiler reserves,
the time is what bandwidth and peak allow. What was once compiled with the same
versions is kept in `results/accelerator`: stopped, it goes on where it was, and
`--kept` makes the table of what is there.
"""

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import os
import pathlib
import re

import keras
import tensorflow as tf

from keras_attn import models
from keras_attn import training
from keras_attn.training.accelerator import chips
from keras_attn.training.accelerator.check import AcceleratorCheck
from keras_attn.training.accelerator.largest_batch import find_largest
from keras_attn.training.accelerator.largest_batch import with_rows

RESULTS = pathlib.Path(__file__).parent / "results"
KEPT = RESULTS / "accelerator"
TARGETS = ("v5e", "a100", "h100")
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
    # The sizes of Bahdanau's paper.
    "Bahdanau 2015": (
        models.RNNSeq2Seq,
        "bahdanau2015",
        {},
        ("source", "target"),
        80,
        50,
    ),
    # Images of 128 pixels, whose grid of 32 × 32 attends to itself.
    "SAGAN 128": (models.SAGAN, "imagenet-128", {}, (), 64, 1024),
}
# Models whose attention is told how to work.
CHOOSE = (models.Transformer, models.GPT, models.BERT, models.ViT)
ATTENTIONS = ("dense", "tiled", "fused")
TITLES = (
    "model",
    "step",
    "rows × tokens",
    "chip",
    "attention",
    "arguments, GiB",
    "temporary, GiB",
    "total, GiB",
    "at least, ms",
    "largest batch",
    "its tokens",
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


def check(name: str, target: str, *, step: str, rows: int, **options):
    """What one compiler says of one step of one model.

    Args:
        name: A key of `MODELS`.
        target: A chip.
        step: "training" or "decode".
        rows: Of a batch.
        options: `attention`, one of `ATTENTIONS`, and arguments of the model.
    """
    attention = options.pop("attention", None)
    if attention is not None:
        options["attention"] = {"implementation": attention}
    model, batch = make(name, **options)
    how = {"step": step}
    if step == "decode":
        half = MODELS[name][-1] // 2
        batch = tf.TensorSpec((rows, half), "int32")
        how["max_length"] = half
    return training.accelerator_check_model(
        model, with_rows(batch, rows), target=target, **how
    )


class Answers:
    """What the compilers have said, asked only where they have not.

    Args:
        versions: What it was asked of; with others it is asked again.
        ask: Whether it may be, or None stands for what nobody has asked.
    """

    def __init__(self, versions, *, ask: bool = True):
        self.versions = versions
        self.ask = ask

    def of(self, name, target, *, rows, **options) -> AcceleratorCheck | None:
        """What `check` finds, or has found before."""
        words = [name, target, *map(str, options.values()), rows, "rows"]
        title = "_".join(str(word) for word in words)
        file = KEPT / f"{re.sub('[^a-z0-9.]+', '-', title.lower())}.json"
        key = {
            "model": name,
            "target": target,
            "rows": rows,
            **options,
            "versions": self.versions,
        }
        if file.exists():
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["asked"] == key:
                return AcceleratorCheck(**kept["found"])
        if not self.ask:
            return None
        found = check(name, target, rows=rows, **options)
        # What follows tells where the compiler and its files are.
        reason, *_ = found.reason.partition(" metadata=")[0].splitlines() or [
            ""
        ]
        found = dataclasses.replace(found, reason=reason)
        KEPT.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        kept = {"asked": key, "found": dataclasses.asdict(found)}
        unfinished.write_text(json.dumps(kept, indent=1) + "\n")
        unfinished.rename(file)
        return found

    def with_largest(self, name, target, **options):
        """`of` the rows in `MODELS`, with the largest batch if it is known."""
        rows = MODELS[name][-2]
        found = self.of(name, target, rows=rows, **options)
        try:
            largest = find_largest(
                lambda rows: self._must(name, target, rows=rows, **options),
                rows,
            )
        except KeyError:
            return found
        return dataclasses.replace(found, largest_batch=largest.largest_batch)

    def _must(self, name, target, **options):
        found = self.of(name, target, **options)
        if found is None:
            raise KeyError(name)
        return found


def attentions_of(name: str, step: str, target: str) -> tuple:
    """In which ways a model can attend there; None if it is not asked."""
    if MODELS[name][0] not in CHOOSE or step != "training":
        return (None,)
    return ATTENTIONS[:2] if chips.find(target).gpu else ATTENTIONS


def refusal(found: AcceleratorCheck) -> str:
    """Why there is no time: too little memory, or the compiler's own fault."""
    internal = found.reason.startswith("INTERNAL")
    return "the compiler fails" if internal else "does not fit"


def row(name: str, step: str, attention, found: AcceleratorCheck) -> str:
    """One line of the table."""
    rows, tokens = MODELS[name][-2:]
    sizes = (
        found.argument_bytes,
        found.temporary_bytes,
        found.total_bytes,
    )
    time = "–"
    if found.seconds is not None:
        more = "> " if found.num_loops else ""
        time = f"{more}{1e3 * found.seconds:.1f}"
    largest = found.largest_batch
    cells = [
        name,
        step,
        f"{rows} × {tokens:,}",
        found.target,
        attention or "auto",
        *("–" if size is None else f"{size / 2**30:.2f}" for size in sizes),
        time if found.fits else refusal(found),
        *(
            ("–", "–")
            if largest is None
            else (f"{largest:,}", f"{largest * tokens:,}")
        ),
    ]
    return f"| {' | '.join(cells)} |"


def main(arguments=None):
    """Compile, print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument(
        "--attentions", nargs="+", choices=ATTENTIONS, default=ATTENTIONS
    )
    parser.add_argument("--layers", type=int, help="not the whole depth")
    parser.add_argument("--dropout", type=float, help="not the preset's")
    parser.add_argument("--largest_batch", action="store_true")
    parser.add_argument(
        "--kept", action="store_true", help="compile nothing: what is known"
    )
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args(arguments)
    overrides = {"num_layers": args.layers, "dropout": args.dropout}
    overrides = {k: v for k, v in overrides.items() if v is not None}
    versions = [f"{x} {importlib.metadata.version(x)}" for x in PACKAGES]
    lines = [
        f"# Whole models on accelerators, {datetime.date.today()}",
        "",
        f"{', '.join(versions)}; mixed_bfloat16, Adam with float32 moments"
        + "".join(f", {k}={v}" for k, v in overrides.items())
        + ". A time after > counts the body of a loop once.",
        "",
        f"| {' | '.join(TITLES)} |",
        "| --- " * len(TITLES) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    builds = set()
    answers = Answers(versions, ask=not args.kept)
    for name, step, target, attention in wanted(args):
        options = {"step": step, "attention": attention, **overrides}
        if args.largest_batch:
            found = answers.with_largest(name, target, **options)
        else:
            rows = MODELS[name][-2]
            found = answers.of(name, target, rows=rows, **options)
        if found is None:
            continue
        builds.add(found.lowered_by)
        lines.append(row(name, step, attention, found))
        print(lines[-1], flush=True)
    lines += ["", f"Lowered by {' and '.join(sorted(builds))}."]
    print(lines[-1])
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"accelerator_{datetime.date.today()}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path}")
    return lines


def wanted(args):
    """Each model, step, chip and way to attend that was asked for."""
    for name in args.models:
        steps = ["training"]
        if name == "GPT-2 small":
            steps.append("decode")
        for step in steps:
            for target in args.targets:
                for attention in attentions_of(name, step, target):
                    if attention is None or attention in args.attentions:
                        yield name, step, target, attention


if __name__ == "__main__":
    main()
