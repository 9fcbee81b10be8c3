"""The command of `python -m keras_attn.training`."""

import argparse
import ast
import importlib
import pathlib
import sys
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_attn.training.accelerator import chips
from keras_attn.training.accelerator.check import AcceleratorCheck
from keras_attn.training.accelerator.check_model import STEPS
from keras_attn.training.accelerator.check_model import accelerator_check_model

_EXAMPLES = """\
examples:
  python -m keras_attn.training check GPT:gpt2 --batch 8 --length 1024
  python -m keras_attn.training check ViT:b16 --target a100 --largest_batch
  python -m keras_attn.training check Transformer:base --length 128 \\
      --set source_vocabulary_size=32000 --set target_vocabulary_size=32000
  python -m keras_attn.training check model.keras --step decode --target l4
"""
_GIB = 2**30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Words after the program's name; None for those it was
            started with.

    Returns:
        0; 1 if the step does not fit, or with a sentence on standard error.
    """
    options = vars(_parser().parse_args(arguments))
    del options["command"]
    try:
        return 0 if _check(**options).fits else 1
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _check(model, batch, length, overrides, dtype, **options):
    made = load(model, dict(overrides), dtype)
    spec = batch_spec_of(made, batch, length)
    check = accelerator_check_model(made, spec, **options)
    rows = check.largest_batch or batch
    print(*report(check, f"{model}, {options['step']}, {rows} rows"), sep="\n")
    return check


def load(name: str, overrides: dict, dtype: str) -> keras.Model:
    """Make a preset, such as "ViT:b16", or read a `.keras` file.

    Args:
        name: As it was given.
        overrides: Arguments of a preset's constructor.
        dtype: Policy of a preset; a file has its own.

    Returns:
        A compiled model.
    """
    # At run time: models are made of this room, and not the other way round.
    models = importlib.import_module("keras_attn").models
    if name.endswith(".keras"):
        if not pathlib.Path(name).is_file():
            raise FileNotFoundError(f"There is no file {name!r}.")
        model = keras.saving.load_model(name)
    else:
        kind, _, preset = name.partition(":")
        known = [
            each
            for each in models.__all__
            if getattr(getattr(models, each), "presets", None)
        ]
        if kind not in known or not preset:
            raise ValueError(
                "A model is a `.keras` file, or a class and a preset of it, "
                f"such as GPT:gpt2; classes are {known}. Received: {name!r}"
            )
        model = getattr(models, kind).from_preset(
            preset, dtype=dtype, **overrides
        )
    if not model.compiled:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer="adam", loss=loss)
    return model


def batch_spec_of(model: keras.Model, rows: int, length: int | None):
    """Inputs and labels of a model, of which the batch's sizes are given.

    Labels are classes if the loss takes them so, else like the outputs.
    """
    if not isinstance(model.outputs, list) or len(model.outputs) != 1:
        raise ValueError(
            f"{type(model).__name__} has several outputs, and nothing says "
            "what their labels are like: call "
            "`training.accelerator_check_model` with the specs of a batch."
        )

    def spec(tensor):
        shape = [length if size is None else size for size in tensor.shape[1:]]
        if None in shape:
            raise ValueError(
                f"The input {tensor.name!r} of shape {tensor.shape} has a "
                "length that nobody knows. Give --length."
            )
        return tf.TensorSpec((rows, *shape), tensor.dtype)

    inputs = tf.nest.map_structure(spec, model._inputs_struct)
    labels = spec(model.outputs[0])
    if _takes_classes(model.loss):
        labels = tf.TensorSpec(labels.shape[:-1], "int32")
    return inputs, labels


def _takes_classes(loss):
    name = loss if isinstance(loss, str) else type(loss).__name__
    return name.lower().replace("_", "") in (
        "sparsecategoricalcrossentropy",
        "maskedcrossentropy",
    )


def report(check: AcceleratorCheck, title: str) -> list[str]:
    """What the compiler says, in lines."""
    chip = chips.find(check.target)
    lines = [f"{title}, on {check.target}:"]
    if not check.fits:
        lines.append(f"  does not fit: {check.reason}")
    if check.total_bytes is not None:
        lines.append(
            f"  memory      {check.total_bytes / _GIB:.2f} GiB of "
            f"{chip.memory_bytes / _GIB:.1f} "
            f"({check.argument_bytes / _GIB:.2f} arguments, "
            f"{check.temporary_bytes / _GIB:.2f} temporary)"
        )
        lines.append(
            f"  moves       {check.bytes_moved / 1e9:.1f} GB, at "
            f"{chip.bandwidth / 1e9:,.0f} GB/s"
        )
        lines.append(
            f"  computes    {check.flops / 1e12:.2f} TFLOP, at "
            f"{chip.peak_flops / 1e12:,.0f} TFLOP/s"
        )
        if check.all_reduce_bytes:
            lines.append(
                f"  all-reduce  {check.all_reduce_bytes / 1e9:.2f} GB, at "
                f"{chip.link_bandwidth / 1e9:,.0f} GB/s"
            )
        bound = "at least"
        if check.num_loops:
            bound = f"more than, with {check.num_loops} loops counted once:"
        lines.append(f"  takes       {bound} {1e3 * check.seconds:.1f} ms")
    if check.largest_batch is not None:
        lines.append(f"  largest     {check.largest_batch} rows")
    if check.lowered_by:
        lines.append(f"  lowered by  {check.lowered_by}")
    return lines


def _override(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m keras_attn.training",
        description="Ask the compiler of a chip about a model.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", dest="command"
    )
    command = commands.add_parser(
        "check",
        help="whether a step compiles for a TPU or GPU, fits, and moves what",
        description="Compile a step of a model with the real compiler of a "
        "chip, which need not be there. Ends with status 1 if it does not fit.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("model", metavar="MODEL", help="CLASS:PRESET, or a .keras file")
    add("--batch", type=int, default=8, help="rows of a batch (8)")
    add("--length", type=int, help="tokens of a row, where the model has none")
    add("--target", default="v5e", help=f"of {', '.join(chips.CHIPS)} (v5e)")
    add("--step", choices=STEPS, default="training", help="(training)")
    add("--max_length", type=int, help="tokens that may follow, to decode")
    add(
        "--dtype",
        default="mixed_bfloat16",
        help="policy of a preset (mixed_bfloat16)",
    )
    add(
        "--set",
        dest="overrides",
        type=_override,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of a preset's constructor; may be repeated",
    )
    add(
        "--chips",
        dest="num_chips",
        type=int,
        default=1,
        help="of a host, each with a batch of its own (1)",
    )
    add(
        "--largest_batch",
        action="store_true",
        help="look for the most rows that fit",
    )
    add("--timeout", type=float, default=3600.0, help="seconds (3600)")
    return parser
