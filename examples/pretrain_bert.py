"""Pretrain a small BERT on masked words, then fine-tune it to classify.

    python -m examples.pretrain_bert
    python -m examples.pretrain_bert --help

It reads the names of emoji in four languages without labels first; then it
learns from a few labelled names to tell the languages apart.
"""

import dataclasses

import keras
import numpy as np

from examples import flags
from examples.training_flags import Training
from keras_attn import data
from keras_attn import models
from keras_attn import text
from keras_attn import training


@dataclasses.dataclass(frozen=True)
class Config(Training):
    """Settings of the BERT example."""

    languages: str = "en fr de es"
    length: int = 16
    num_layers: int = 2
    num_heads: int = 4
    units: int = 64
    dropout: float = 0.1
    batch_size: int = 64
    pretraining_steps: int = 1_000
    num_labelled: int = 400
    fine_tuning_steps: int = 150
    learning_rate: float = 2e-3
    seed: int = 0


def names(config, split):
    """Names of emoji and the numbers of their languages, mixed."""
    examples = []
    for label, language in enumerate(config.languages.split()):
        other = "fr" if language == "en" else "en"
        pairs = data.emoji_phrases(split, source=language, target=other)
        examples += [
            (row["source"].decode(), label) for row in pairs.as_numpy_iterator()
        ]
    order = np.random.default_rng(config.seed).permutation(len(examples))
    strings, labels = zip(*(examples[i] for i in order), strict=True)
    return data.arrays(text=list(strings), label=np.array(labels, "int32"))


def batches(config, examples, *, shuffle):
    """Batches of one length; longer names are left out."""
    return data.batches(
        examples,
        config.batch_size,
        lengths=config.length,
        too_long="drop",
        shuffle=shuffle,
        seed=config.seed,
    )


def pretrain(config, examples, tokenizer):
    """Learn to tell which words were hidden."""
    texts = examples.map(lambda example: {"text": example["text"]})
    unmasked = data.masked_language_model(texts, tokenizer)
    masked = data.mask_tokens(
        batches(config, unmasked, shuffle=20_000), tokenizer, seed=config.seed
    )
    rate = training.WarmupCosine(
        config.learning_rate,
        config.pretraining_steps // 10,
        config.pretraining_steps,
    )
    with config.scope():
        model = models.BERT(
            tokenizer.vocabulary_size,
            num_layers=config.num_layers,
            num_heads=config.num_heads,
            units=config.units,
            max_length=config.length,
            dropout=config.dropout,
            head="masked_lm",
        )
        model.compile(
            optimizer=keras.optimizers.AdamW(rate),
            loss=training.MaskedCrossentropy(),
            metrics=[training.MaskedAccuracy()],
            jit_compile=config.jit_compile,
        )
    training.fit(
        model,
        masked.repeat(),
        steps_per_epoch=config.pretraining_steps,
        shuffle=False,
        checkpoints=config.checkpoints_of("pretraining"),
    )
    return model


def fine_tune(config, model, examples, tokenizer):
    """Put another head on the encoder, and train on few labels."""
    classes = len(config.languages.split())
    labelled = data.text_classification(
        examples.take(config.num_labelled), tokenizer
    )
    with config.scope():
        classifier = model.with_head("classification", num_classes=classes)
        classifier.compile(
            optimizer=keras.optimizers.AdamW(config.learning_rate / 4),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            jit_compile=config.jit_compile,
        )
    train = batches(config, labelled, shuffle=config.num_labelled)
    training.fit(
        classifier,
        train.repeat(),
        steps_per_epoch=config.fine_tuning_steps,
        shuffle=False,
        checkpoints=config.checkpoints_of("fine_tuning"),
    )
    return classifier


def main(config):
    """Pretrain, fine-tune, and return the accuracy on held-out names."""
    keras.utils.set_random_seed(config.seed)
    examples = names(config, "train")
    words = text.learn_vocabulary(
        examples.map(lambda example: example["text"]),
        4_000,
        kind="word",
        lowercase=True,
        verbose=0,
    )
    tokenizer = text.WordTokenizer(words, lowercase=True)
    model = pretrain(config, examples, tokenizer)
    classifier = fine_tune(config, model, examples, tokenizer)
    held_out = data.text_classification(names(config, "test"), tokenizer)
    _, accuracy = classifier.evaluate(
        batches(config, held_out, shuffle=None), verbose=0
    )
    print(f"{accuracy:.1%} of the held-out names are predicted correctly")
    return accuracy


if __name__ == "__main__":
    main(flags.parse(Config))
