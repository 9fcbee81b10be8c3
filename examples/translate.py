"""Train a small model to translate, and draw its attention weights.

    python -m examples.translate
    python -m examples.translate --model rnn
    python -m examples.translate --data emoji --steps 3000
    python -m examples.translate --help

Without flags it learns a small language of phrases whose words stand in
another order in the translation. The held-out sentences join adjectives and
nouns that training never showed together.
"""

import dataclasses
import pathlib

import keras
import numpy as np
import sacrebleu

from examples import flags
from examples.training_flags import Training
from keras_attn import data
from keras_attn import export
from keras_attn import models
from keras_attn import plot
from keras_attn import text
from keras_attn import training

# As in the paper on the Transformer, section 6.1.
LENGTH_PENALTY = 0.6


@dataclasses.dataclass(frozen=True)
class Config(Training):
    """Settings of the translation example."""

    model: str = "transformer"
    data: str = "phrases"
    length: int = 20
    num_layers: int = 2
    num_heads: int = 4
    units: int = 96
    dropout: float = 0.1
    batch_size: int = 64
    steps: int = 800
    warmup_steps: int = 200
    learning_rate: float = 2e-3
    num_held_out: int = 200
    width: int = 4
    seed: int = 0
    folder: str = "build/translate"


def learn_words(pairs, side):
    """A tokenizer of the words of one side."""
    sentences = pairs.map(lambda example: example[side])
    words = text.learn_vocabulary(sentences, 8_000, kind="word", verbose=0)
    return text.WordTokenizer(words)


def make_model(config, **sizes):
    """A Transformer, or a GRU with Bahdanau's attention."""
    if config.model == "rnn":
        bahdanau = dict(initial_state="backward", readout="maxout")
        return models.RNNSeq2Seq(bidirectional=True, **bahdanau, **sizes)
    depth = dict(num_layers=config.num_layers, num_heads=config.num_heads)
    return models.Transformer(norm="pre", **depth, **sizes)


def build_model(config, source, target):
    """Compile as in the paper on the Transformer, but with a peak rate."""
    model = make_model(
        config,
        source_vocabulary_size=source.vocabulary_size,
        target_vocabulary_size=target.vocabulary_size,
        units=config.units,
        dropout=config.dropout,
    )
    rate = training.WarmupCosine(
        config.learning_rate, config.warmup_steps, config.steps
    )
    model.compile(
        optimizer=keras.optimizers.Adam(rate, beta_2=0.98),
        loss=training.MaskedCrossentropy(label_smoothing=0.1),
        metrics=[training.MaskedAccuracy()],
        jit_compile=config.jit_compile,
    )
    return model


def draw(config, translator, sentence):
    """Draw the attention weights of one translation; return the path."""
    path = pathlib.Path(config.folder) / "alignment.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = plot.alignment(translator.attention([sentence]))
    picture.savefig(path, dpi=150)
    return path


def train(config):
    """Learn from the training split: a servable, text in and text out."""
    keras.utils.set_random_seed(config.seed)
    pairs = data.load(config.data)
    source, target = (learn_words(pairs, x) for x in ("source", "target"))
    batches = data.batches(
        data.translation(pairs, source, target),
        config.batch_size,
        lengths=config.length,
        too_long="drop",
        cache=True,
        shuffle=10_000,
        seed=config.seed,
    )
    with config.scope():
        model = build_model(config, source, target)
    print(f"{model.count_params():,} parameters")
    training.fit(
        model,
        batches.repeat(),
        steps_per_epoch=config.steps,
        shuffle=False,
        checkpoints=config.checkpoints_of(),
    )
    return export.servable(
        model,
        tokenizer={"source": source, "target": target},
        search="beam",
        width=config.width,
        length_penalty=LENGTH_PENALTY,
        max_length=config.length,
        source_length=config.length,
    )


def score(config, translator):
    """Translate held-out sentences, and say how well it went.

    Returns:
        The sentences, BLEU from 0 to 100, and the share that is right to the
        letter.
    """
    held_out = data.load(config.data, split="test").take(config.num_held_out)
    rows = list(held_out.as_numpy_iterator())
    sentences = [row["source"].decode() for row in rows]
    wanted = [row["target"].decode() for row in rows]
    answers = translator.translate(sentences, verbose=0)["text"].tolist()
    right = np.mean([a == b for a, b in zip(answers, wanted, strict=True)])
    bleu = sacrebleu.corpus_bleu(answers, [wanted]).score
    print(f"{len(rows)} held-out sentences: BLEU {bleu:.1f}, {right:.1%} right")
    for sentence, answer in list(zip(sentences, answers, strict=True))[:3]:
        print(f"  {sentence} -> {answer}")
    return sentences, bleu, right


def main(config):
    """Train, and return the share of held-out sentences that are right."""
    translator = train(config)
    sentences, _, right = score(config, translator)
    picture = draw(config, translator, sentences[0])
    print(f"Attention weights: {picture}")
    return right


if __name__ == "__main__":
    main(flags.parse(Config))
