"""List the functions that a reader visits on three roads through the library.

    python -m benchmarks.walks            # the numbers, in about a minute
    python -m benchmarks.walks --list     # and each function, in order

One sentence from its file to the loss, one request to its answer (what is
traced for the graph that a server runs), and one beam search. Counted are the
functions of `keras_attn` that are entered, each once.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import numpy as np

import keras_attn
from keras_attn import data
from keras_attn import decoding
from keras_attn import export
from keras_attn import models
from keras_attn import text
from keras_attn import training

ROOT = pathlib.Path(keras_attn.__file__).parent
PAIRS = {"source": ["ein haus", "zwei rote autos"], "target": ["a", "two red"]}


def entered(road) -> list[str]:
    """Functions of the library that a call enters, in order.

    Args:
        road: A function without arguments.

    Returns:
        "file function" for each, once.
    """
    seen, inside = {}, f"{ROOT}{os.sep}"

    def note(frame, event, argument):
        code = frame.f_code
        # Millions of calls are TensorFlow's own: look at text alone.
        if event != "call" or not code.co_filename.startswith(inside):
            return
        # "<lambda>" and the like are parts of the function around them.
        if code.co_name[0] != "<":
            # Python 3.10 does not tell the class.
            name = getattr(code, "co_qualname", code.co_name)
            seen[f"{code.co_filename[len(inside) :]} {name}"] = None

    sys.setprofile(note)
    try:
        road()
    finally:
        sys.setprofile(None)
    return list(seen)


def roads(folder: pathlib.Path) -> dict:
    """The roads by name: functions without arguments.

    Args:
        folder: Where the sentences are written.
    """
    tokenizers = {}
    for side, lines in PAIRS.items():
        (folder / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
        vocabulary = text.learn_vocabulary(lines, 20, kind="word", verbose=0)
        tokenizers[side] = text.WordTokenizer(vocabulary)
    model = models.Transformer(
        source_vocabulary_size=tokenizers["source"].vocabulary_size,
        target_vocabulary_size=tokenizers["target"].vocabulary_size,
        num_layers=1,
        num_heads=2,
        units=8,
    )
    loss = training.MaskedCrossentropy()
    state = model.encode(np.array([[2, 3, 4]]), 4)
    servable = export.servable(
        model, tokenizer=tokenizers, search="beam", max_length=5
    )

    def file_to_loss():
        pairs = data.parallel_lines(folder / "source", folder / "target")
        examples = data.translation(pairs, *tokenizers.values())
        inputs, labels = next(iter(data.batches(examples, 2, lengths=6)))
        loss(labels, model(inputs, training=True))

    def request():
        servable.function("translate")

    def beam():
        options = {"batch_size": 1, "max_length": 4, "width": 3}
        decoding.beam(model.step, state, start_id=1, end_id=2, **options)

    return {"file to loss": file_to_loss, "request": request, "beam": beam}


def main(arguments=None):
    """Walk each road, and print how long it is."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--list", action="store_true", help="print each function too"
    )
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for name, road in roads(pathlib.Path(folder)).items():
            visited = entered(road)
            print(f"{name}: {len(visited)} functions")
            if args.list:
                print("\n".join(f"  {each}" for each in visited))


if __name__ == "__main__":
    main()
