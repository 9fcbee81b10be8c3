"""Compare a GRU with attention, one without, and a Transformer, by BLEU.

    python -m examples.compare_translators --pairs fra.txt.gz
    python -m examples.compare_translators --help

The file holds a sentence, a tab and its translation in each line, as those of
Tatoeba do. A sentence may have several translations: whatever a sentence is
paired with, it is in one split only, and all of its translations count as
references. Without a file the built-in phrases are learned.
"""

import collections
import dataclasses
import itertools
import time

import keras
import sacrebleu
import tensorflow as tf

from examples import flags
from examples.training_flags import Training
from keras_attn import data
from keras_attn import export
from keras_attn import models
from keras_attn import text
from keras_attn import training

# One of so many sentences is held out.
HELD_OUT = 50


@dataclasses.dataclass(frozen=True)
class Config(Training):
    """Settings of the comparison of translators."""

    pairs: str = ""
    models: str = "no attention,attention,transformer"
    vocabulary_size: int = 4_000
    length: int = 24
    units: int = 256
    batch_size: int = 64
    steps: int = 4_000
    learning_rate: float = 2e-3
    dropout: float = 0.1
    num_held_out: int = 1_000
    width: int = 4
    seed: int = 0


def recurrent(attention):
    """A bidirectional GRU that is read by another."""

    def build(config, sizes):
        return models.RNNSeq2Seq(
            **sizes,
            units=config.units,
            bidirectional=True,
            attention=attention,
            dropout=config.dropout,
        )

    return build


def transformer(config, sizes):
    """About as many weights as the GRU with attention has."""
    return models.Transformer(
        **sizes,
        units=config.units // 4 * 3,
        num_layers=3,
        num_heads=4,
        hidden_dim=2 * config.units,
        norm="pre",
        dropout=config.dropout,
    )


BUILD = {
    "no attention": recurrent(None),
    "attention": recurrent("additive"),
    "transformer": transformer,
}


def split(pairs):
    """The pairs to learn from, and those held out, by the source's letters."""

    def is_held_out(pair):
        return tf.strings.to_hash_bucket_fast(pair["source"], HELD_OUT) == 0

    return (
        pairs.filter(lambda pair: not is_held_out(pair)),
        pairs.filter(is_held_out),
    )


def references(pairs, number):
    """The translations of each of the first sentences: {source: [target]}."""
    found = collections.defaultdict(list)
    for pair in pairs.as_numpy_iterator():
        found[pair["source"].decode()].append(pair["target"].decode())
    return dict(itertools.islice(found.items(), number))


def learn_tokens(config, pairs, side):
    """A tokenizer of one side, in pieces of words."""
    texts = pairs.map(lambda pair: pair[side])
    return text.BytePairTokenizer(
        *text.learn_vocabulary(
            texts, config.vocabulary_size, kind="bpe", verbose=0
        )
    )


def make_batches(config, pairs, tokenizers):
    """Batches of two lengths, always in the same order."""
    return data.batches(
        data.translation(pairs, *tokenizers.values()),
        config.batch_size,
        lengths=[config.length // 2, config.length],
        too_long="drop",
        cache=True,
        shuffle=50_000,
        seed=config.seed,
    )


def train(config, name, pairs, tokenizers):
    """One translator, text in and text out; its weights and minutes."""
    keras.utils.set_random_seed(config.seed)
    batches = make_batches(config, pairs, tokenizers)
    sizes = {
        f"{side}_vocabulary_size": tokenizer.vocabulary_size
        for side, tokenizer in tokenizers.items()
    }
    rate = training.WarmupCosine(
        config.learning_rate, config.steps // 10, config.steps
    )
    with config.scope():
        model = BUILD[name](config, sizes)
        model.compile(
            keras.optimizers.Adam(rate, beta_2=0.98, global_clipnorm=1.0),
            loss=training.MaskedCrossentropy(label_smoothing=0.1),
            metrics=[training.MaskedAccuracy()],
            jit_compile=config.jit_compile,
        )
    print(f"{name}: {model.count_params():,} parameters", flush=True)
    start = time.monotonic()
    training.fit(
        model,
        batches.repeat(),
        steps_per_epoch=max(1, config.steps // 10),
        epochs=10,
        shuffle=False,
        checkpoints=config.checkpoints_of(name),
        verbose=2,
    )
    minutes = (time.monotonic() - start) / 60
    translator = export.servable(
        model,
        tokenizer=tokenizers,
        search="beam",
        width=config.width,
        max_length=config.length,
        source_length=config.length,
    )
    return translator, model.count_params(), minutes


def bleu(translator, sentences):
    """BLEU from 0 to 100, all translations of a sentence being right."""
    answers = translator.translate(list(sentences), verbose=0)["text"].tolist()
    # One list for each place in the sentences' own lists, None where it ends.
    given = [list(x) for x in itertools.zip_longest(*sentences.values())]
    for sentence, answer in list(zip(sentences, answers, strict=True))[:3]:
        print(f"  {sentence} -> {answer}")
    return sacrebleu.corpus_bleu(answers, given).score


def main(config):
    """Train each and print the table; return BLEU by name."""
    pairs = data.phrases()
    if config.pairs:
        pairs = data.tab_separated(config.pairs)
    pairs = pairs.map(
        lambda x: {side: x[side] for side in ("source", "target")}
    )
    learned, held_out = split(pairs)
    sentences = references(held_out, config.num_held_out)
    if not sentences:
        raise ValueError(
            f"One of {HELD_OUT} sentences is held out, and of these pairs none "
            f"is: give a longer file. Received: --pairs {config.pairs!r}"
        )
    tokenizers = {
        side: learn_tokens(config, learned, side)
        for side in ("source", "target")
    }
    rows = {}
    for name in config.models.split(","):
        translator, parameters, minutes = train(
            config, name, learned, tokenizers
        )
        rows[name] = bleu(translator, sentences), parameters, minutes
        print(f"  BLEU {rows[name][0]:.1f}", flush=True)
    print(f"\n{len(sentences)} held-out sentences, beam {config.width}")
    print(
        "| model | parameters | BLEU | minutes |\n| --- " + "| --- " * 3 + "|"
    )
    for name, (score, parameters, minutes) in rows.items():
        print(f"| {name} | {parameters:,} | {score:.1f} | {minutes:.0f} |")
    return {name: row[0] for name, row in rows.items()}


if __name__ == "__main__":
    main(flags.parse(Config))
