r"""Show what goes into a model: a few batches of any task, readably.

    python -m examples.show_data --task translation
    python -m examples.show_data --task captioning --batch_size 1
    python -m examples.show_data --task image_classification \
        --data tfds:fashion_mnist
    python -m examples.show_data --help

Tasks: translation, language_model, masked_language_model,
text_classification, image_classification, captioning, sequence_regression.
Without `--data` each shows built-in data, which needs no download.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from examples import flags
from keras_attn import data
from keras_attn import text

SHADES = np.array(list(" .:-=+*#%@"))


@dataclasses.dataclass(frozen=True)
class Config:
    """Settings of the data show; tasks are listed in the file's docstring."""

    task: str = "translation"
    data: str = ""
    batch_size: int = 3
    num_batches: int = 1
    length: int = 16
    too_long: str = "drop"
    num_texts: int = 2_000
    seed: int = 0


def word_tokenizer(config, strings):
    """Learn the words of the first texts."""
    words = text.learn_vocabulary(
        strings.take(config.num_texts), 4_000, kind="word", verbose=0
    )
    return text.WordTokenizer(words)


def field(examples, name):
    """One string of each example."""
    return examples.map(lambda example: example[name])


def batches(config, examples, tokenizer=None):
    """Batches of one length."""
    return data.batches(
        examples,
        config.batch_size,
        lengths=None if tokenizer is None else config.length,
        too_long=config.too_long,
        pad_id=0 if tokenizer is None else tokenizer.pad_id,
        shuffle=1_000,
        seed=config.seed,
    )


def translation(config):
    """Pairs of sentences: the source, and the target shifted by one."""
    pairs = data.load(config.data or "phrases")
    source = word_tokenizer(config, field(pairs, "source"))
    target = word_tokenizer(config, field(pairs, "target"))
    examples = data.translation(pairs, source, target)
    readers = {"source": source, "target": target, "labels": target}
    return batches(config, examples, target), readers


def texts(config):
    """English names of emoji, or the texts of another source."""
    if config.data:
        return data.load(config.data)
    names = data.load("emoji")
    return names.map(lambda example: {"text": example["source"]})


def language_model(config):
    """Documents packed into windows."""
    documents = texts(config)
    tokenizer = word_tokenizer(config, field(documents, "text"))
    examples = data.language_model(
        documents, tokenizer, length=config.length, packed=True
    )
    readers = {"tokens": tokenizer, "labels": tokenizer}
    return data.batches(examples, config.batch_size), readers


def masked_language_model(config):
    """Texts of which some tokens are hidden."""
    documents = texts(config)
    tokenizer = word_tokenizer(config, field(documents, "text"))
    examples = data.masked_language_model(documents, tokenizer)
    masked = data.mask_tokens(
        batches(config, examples, tokenizer), tokenizer, seed=config.seed
    )
    return masked, {"tokens": tokenizer, "labels": tokenizer}


def text_classification(config):
    """Texts and their classes."""
    if config.data:
        examples = data.load(config.data)
    else:  # which language is it: 0 English, 1 French
        names = data.load("emoji")
        english = names.map(lambda x: {"text": x["source"], "label": 0})
        french = names.map(lambda x: {"text": x["target"], "label": 1})
        examples = english.concatenate(french)
    tokenizer = word_tokenizer(config, field(examples, "text").shuffle(9_999))
    examples = data.text_classification(examples, tokenizer)
    return batches(config, examples, tokenizer), {"tokens": tokenizer}


def image_classification(config):
    """Images and their classes."""
    images = data.load(config.data or "digits")
    examples = data.image_classification(images, size=16, channels=1)
    return batches(config, examples), {}


def captioning(config):
    """Images and what is to be said of them."""
    scenes = data.load(config.data or "digit_scenes")
    tokenizer = word_tokenizer(config, field(scenes, "caption"))
    examples = data.captioning(scenes, tokenizer, size=32, channels=1)
    readers = {"target": tokenizer, "labels": tokenizer}
    return batches(config, examples, tokenizer), readers


def sequence_regression(config):
    """The adding problem: the sum of the two numbers that are marked."""
    rng = np.random.default_rng(config.seed)
    shape = (config.num_texts, config.length)
    numbers = rng.uniform(size=shape).astype("float32")
    marks = rng.uniform(size=shape).argsort(axis=1) < 2
    sequence = np.stack([numbers, marks], axis=-1)
    target = (numbers * marks).sum(axis=1)
    columns = data.arrays(sequence=sequence, target=target)
    return batches(config, data.sequence_regression(columns)), {}


TASKS = {
    task.__name__: task
    for task in (
        translation,
        language_model,
        masked_language_model,
        text_classification,
        image_classification,
        captioning,
        sequence_regression,
    )
}


def named(structure, name="labels"):
    """Yield the parts of a batch by name: inputs first, then labels."""
    if isinstance(structure, dict):
        for key, value in structure.items():
            yield from named(value, key)
    elif isinstance(structure, tuple):
        yield from named(structure[0], "inputs")
        yield from named(structure[1])
    else:
        yield name, structure


def readable(row, tokenizer=None):
    """A row of ids as words, an image as shades, numbers as they are."""
    if tokenizer is not None:
        words = [tokenizer.vocabulary[number] for number in row]
        return " ".join(words)
    if row.ndim == 3:
        shades = SHADES[(row[..., 0] * (len(SHADES) - 1)).astype(int)]
        lines = ["".join(np.repeat(line, 2)) for line in shades]
        return "\n" + "\n".join(f"      {line}" for line in lines)
    return np.array2string(row, precision=2, suppress_small=True)


def main(config):
    """Print the batches, and return the last one."""
    if config.task not in TASKS:
        raise SystemExit(
            f"There is no task {config.task!r}. Tasks: {', '.join(TASKS)}."
        )
    dataset, readers = TASKS[config.task](config)
    print(f"Shapes of every batch of {config.task}:")
    for name, spec in named(dataset.element_spec):
        print(f"  {name}: {tuple(spec.shape)} {spec.dtype.name}")
    batch = None
    for number, batch in enumerate(dataset.take(config.num_batches)):
        parts = dict(named(batch))
        for row in range(config.batch_size):
            print(f"\nBatch {number}, row {row}")
            for name, tensor in parts.items():
                value = readable(tensor[row].numpy(), readers.get(name))
                print(f"  {name}: {value}")
    if batch is None:
        tf.print("No batch: there are fewer examples than rows in a batch.")
    return batch


if __name__ == "__main__":
    main(flags.parse(Config))
