"""Train a small GPT on characters, and let it write.

    python -m examples.language_model
    python -m examples.language_model --model rnn
    python -m examples.language_model --text tinyshakespeare.txt
    python -m examples.language_model --help

Without a text it reads the English names of emoji, which need no download.
The sizes are those of nanoGPT's small configuration for CPUs, whose README
reports a loss of 1.88 nats for each character of the last tenth of
tiny-shakespeare after 2,000 steps. `--model rnn` trains two layers of LSTM with
as many parameters in its place.
"""

import dataclasses
import pathlib

import keras
import numpy as np
import tensorflow as tf

from examples import flags
from examples.training_flags import Training
from keras_attn import data
from keras_attn import decoding
from keras_attn import models
from keras_attn import text
from keras_attn import training


@dataclasses.dataclass(frozen=True)
class Config(Training):
    """Settings of the language-model example."""

    model: str = "gpt"
    text: str = ""
    held_out: float = 0.1
    length: int = 64
    num_layers: int = 4
    num_heads: int = 4
    units: int = 128
    dropout: float = 0.0
    batch_size: int = 12
    steps: int = 2_000
    learning_rate: float = 1e-3
    prompt: str = "the "
    num_written: int = 60
    seed: int = 1337


def read_text(config):
    """The whole text as one string."""
    if config.text:
        return pathlib.Path(config.text).read_text(encoding="utf-8")
    names = data.emoji_phrases("train")
    lines = [row["source"].decode() for row in names.as_numpy_iterator()]
    return "\n".join(lines)


def make_batches(config, document, tokenizer, *, shuffle):
    """Windows of one document, in batches."""
    texts = tf.data.Dataset.from_tensors({"text": document})
    windows = data.language_model(
        texts, tokenizer, length=config.length, segments=False
    )
    return data.batches(
        windows, config.batch_size, shuffle=shuffle, seed=config.seed
    )


def recurrent_model(size, config, tokenizer):
    """Two layers of LSTM, with about as many parameters as `size`."""
    words, units = tokenizer.vocabulary_size, np.arange(1, 5_000)
    counts = 2 * (8 * units**2 + 4 * units) + words * (2 * units + 1)
    return models.RNNLanguageModel(
        words,
        units=int(units[np.abs(counts - size).argmin()]),
        num_layers=2,
        dropout=config.dropout,
        pad_id=tokenizer.pad_id,
    )


def build_model(config, tokenizer):
    """A GPT or its rival, compiled as nanoGPT trains its own."""
    model = models.GPT(
        tokenizer.vocabulary_size,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        units=config.units,
        max_length=config.length,
        dropout=config.dropout,
        pad_id=tokenizer.pad_id,
    )
    if config.model == "rnn":
        model = recurrent_model(model.count_params(), config, tokenizer)
    rate = training.WarmupCosine(
        config.learning_rate,
        warmup_steps=min(100, config.steps // 2),
        total_steps=config.steps,
        final=config.learning_rate / 10,
    )
    optimizer = keras.optimizers.AdamW(
        rate, weight_decay=0.1, beta_2=0.99, global_clipnorm=1.0
    )
    # Matrices only: to shrink a bias or a norm is no regularisation.
    optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    model.compile(
        optimizer=optimizer,
        loss=training.MaskedCrossentropy(tokenizer.pad_id),
        metrics=[training.Perplexity(tokenizer.pad_id)],
        jit_compile=config.jit_compile,
    )
    return model


def write(config, model, tokenizer):
    """Let the model go on from the prompt."""
    prompt = tokenizer([config.prompt])
    ids = decoding.generate(
        model,
        prompt,
        search="sample",
        max_length=config.num_written,
        end_id=tokenizer.end_id,
        temperature=0.8,
        top_k=20,
        seed=config.seed,
    )
    return config.prompt + tokenizer.detokenize(ids)[0].numpy().decode()


def main(config):
    """Train, write, and return the loss on the text that was held out."""
    keras.utils.set_random_seed(config.seed)
    document = read_text(config)
    characters = text.learn_vocabulary(
        [document], 10_000, kind="character", verbose=0
    )
    tokenizer = text.CharacterTokenizer(characters)
    cut = int(len(document) * (1 - config.held_out))
    train = make_batches(config, document[:cut], tokenizer, shuffle=20_000)
    held_out = make_batches(config, document[cut:], tokenizer, shuffle=None)

    with config.scope():
        model = build_model(config, tokenizer)
    print(f"{len(document):,} characters, {len(characters)} of them different")
    print(f"{model.count_params():,} parameters")
    training.fit(
        model,
        train.repeat(),
        steps_per_epoch=config.steps,
        shuffle=False,
        checkpoints=config.checkpoints_of(),
    )
    loss, perplexity = model.evaluate(held_out, verbose=0)
    print(f"Held out: {loss:.3f} nats for each character")
    print(f"Perplexity {perplexity:.2f} of {len(characters)}")
    print(write(config, model, tokenizer))
    return loss


if __name__ == "__main__":
    main(flags.parse(Config))
