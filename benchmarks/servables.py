"""One small language model, written to folders in the ways to compare."""

import dataclasses
import pathlib

import keras
import numpy as np
import tensorflow as tf

from benchmarks import stdlib_text
from keras_attn import models
from keras_attn import text
from keras_attn.export.exporting import export_model

# Further arguments of each search.
SEARCHES = {"greedy": {}, "beam": {"width": 4}}
LINES = 20_000
NUM_PROMPTS = 32
KERAS = "Keras' export"
KERAS_HUB = "KerasHub's generate_step"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Sizes of the model, and the most tokens that it reads and writes."""

    vocabulary: int = 8_000
    layers: int = 4
    width: int = 256
    heads: int = 4
    prompt: int = 96
    new: int = 32


def title(search: str) -> str:
    """What a search of ours is called in the tables."""
    width = SEARCHES[search].get("width")
    return f"ours, {search}" + (f"-{width}" if width else "")


def tokenizer_and_prompts(sizes: Sizes):
    """A tokenizer of whole words, and texts, from docstrings."""
    lines = stdlib_text.sentences(LINES)
    vocabulary = text.learn_vocabulary(lines, sizes.vocabulary, verbose=0)
    tokenizer = text.WordTokenizer(vocabulary)
    lengths = tokenizer(lines).row_lengths().numpy()
    fitting = [
        line
        for line, length in zip(lines, lengths, strict=True)
        if length <= sizes.prompt
    ]
    step = max(len(fitting) // NUM_PROMPTS, 1)
    return tokenizer, fitting[::step][:NUM_PROMPTS]


def language_model(vocabulary_size: int, sizes: Sizes) -> keras.Model:
    """Our GPT with random weights, the same ones each time."""
    keras.utils.set_random_seed(0)
    return models.GPT(
        vocabulary_size,
        num_layers=sizes.layers,
        num_heads=sizes.heads,
        units=sizes.width,
        max_length=sizes.prompt + sizes.new,
    )


def ours(model, tokenizer, folder, search: str, sizes: Sizes) -> pathlib.Path:
    """Export with this library: texts in, texts out."""
    return export_model(
        model,
        pathlib.Path(folder) / search,
        tokenizer=tokenizer,
        search=search,
        max_length=sizes.new,
        verify=False,  # the benchmark compares its answers
        **SEARCHES[search],
    )


def compared(model, tokenizer, prompt: str, versions: dict, sizes: Sizes):
    """The folders to load: ours, and those of Keras and KerasHub beside them.

    Args:
        model: Our model.
        tokenizer: Its tokenizer.
        prompt: What each is asked.
        versions: Folders that `ours` wrote, by search.
        sizes: Of the model.

    Returns:
        By name what `cold_load.measure` takes.
    """
    weights = _bytes_of(model)
    found = {
        title(search): {
            "folder": folder,
            "weights": weights,
            "inputs": {"text": np.array([prompt], object)},
        }
        for search, folder in versions.items()
    }
    beside = next(iter(versions.values())).parents[1]
    tokens = tokenizer([prompt]).to_tensor().numpy()
    folder = beside / "keras"
    model.export(folder, verbose=False)
    found[KERAS] = {
        "folder": folder,
        "weights": weights,
        "inputs": {"tokens": tokens},
    }
    folder = beside / "keras_hub"
    weights = _export_keras_hub(tokenizer.vocabulary_size, sizes, folder)
    filled = np.pad(tokens, ((0, 0), (0, sizes.new)))
    found[KERAS_HUB] = {
        "folder": folder,
        "weights": weights,
        "inputs": {
            "token_ids": filled,
            "padding_mask": (filled != 0).astype("int32"),
        },
    }
    return found


def _export_keras_hub(vocabulary_size, sizes, folder):
    """Write ids in, ids out, by hand; the bytes of the raw weights."""
    import keras_hub

    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=vocabulary_size,
        num_layers=sizes.layers,
        num_heads=sizes.heads,
        hidden_dim=sizes.width,
        intermediate_dim=4 * sizes.width,
        max_sequence_length=sizes.prompt + sizes.new,
    )
    model = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
    model.compile(sampler="greedy", jit_compile=False)

    def generate(token_ids, padding_mask):
        return model.generate_step(
            {"token_ids": token_ids, "padding_mask": padding_mask}
        )

    # Without `track`, which would write every weight twice.
    archive = keras.export.ExportArchive()
    archive.add_endpoint(
        "serving_default",
        generate,
        input_signature=[
            tf.TensorSpec([None, None], tf.int32, name)
            for name in ("token_ids", "padding_mask")
        ],
    )
    archive.write_out(folder, verbose=False)
    return _bytes_of(model)


def _bytes_of(model):
    return sum(np.asarray(each.value).nbytes for each in model.variables)
