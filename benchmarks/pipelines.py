"""How much of a training step our pipelines take."""

import time

import keras
import tensorflow as tf

from keras_attn import data
from keras_attn import layers
from keras_attn import text

BATCH = 64
LENGTH = 32
WIDTH = 128


def translation():
    """Phrases of the built-in grammar, in buckets of two lengths, kept."""
    pairs = data.phrases()
    tokenizers = [
        _learn(pairs.map(lambda example, name=name: example[name]))
        for name in ("source", "target")
    ]
    examples = data.translation(pairs, *tokenizers)
    batches = data.batches(
        examples,
        BATCH,
        lengths=(LENGTH // 2, LENGTH),
        cache=True,
        shuffle=1_000,
    )
    source, target = (_tokens(name) for name in ("source", "target"))
    memory = _encode(source, tokenizers[0])
    state = _encode(target, tokenizers[1])
    attended = layers.MultiHeadAttention(4, WIDTH // 4)(state, memory)
    logits = keras.layers.Dense(tokenizers[1].vocabulary_size)(attended)
    return batches, keras.Model({"source": source, "target": target}, logits)


def masked_language_model():
    """Names of emoji, masked again in every epoch."""
    texts = data.emoji_phrases().map(lambda x: {"text": x["source"]})
    tokenizer = _learn(texts.map(lambda example: example["text"]))
    examples = data.masked_language_model(texts, tokenizer)
    batches = data.batches(
        examples, BATCH, lengths=LENGTH, too_long="drop", shuffle=1_000
    )
    masked = data.mask_tokens(batches, tokenizer)
    tokens = _tokens("tokens")
    logits = keras.layers.Dense(tokenizer.vocabulary_size)(
        _encode(tokens, tokenizer)
    )
    inputs = {"tokens": tokens, "segments": _tokens("segments")}
    return masked, keras.Model(inputs, logits)


def language_model():
    """Names of emoji in packed windows, which are kept once they are made."""
    texts = data.emoji_phrases().map(lambda x: {"text": x["source"]})
    tokenizer = text.ByteTokenizer()
    examples = data.language_model(
        texts, tokenizer, length=2 * LENGTH, packed=True, segments=False
    )
    tokens = _tokens("tokens")
    logits = keras.layers.Dense(tokenizer.vocabulary_size)(
        _encode(tokens, tokenizer)
    )
    batches = data.batches(examples, BATCH, cache=True, shuffle=1_000)
    return batches, keras.Model(tokens, logits)


def image_classification():
    """Digits of 32 × 32, with 3-Augment."""
    examples = data.image_classification(data.digits(), size=32)
    batches = data.batches(examples, BATCH, shuffle=1_000)
    augmented = data.augment(batches, data.three_augment())
    images = keras.Input((32, 32, 3))
    patches = keras.layers.Conv2D(WIDTH, 4, strides=4)(images)
    x = keras.layers.Reshape((64, WIDTH))(patches)
    for _ in range(4):
        x = _block(x)
    x = keras.layers.GlobalAveragePooling1D()(x)
    return augmented, keras.Model(images, keras.layers.Dense(10)(x))


def captioning():
    """Digit scenes and what is said of them, kept once they are read."""
    scenes = data.digit_scenes()
    tokenizer = _learn(scenes.map(lambda example: example["caption"]))
    examples = data.captioning(scenes, tokenizer, size=32, channels=1)
    batches = data.batches(
        examples, BATCH, lengths=LENGTH // 2, cache=True, shuffle=1_000
    )
    image = keras.Input((32, 32, 1), name="image")
    target = _tokens("target")
    patches = keras.layers.Conv2D(WIDTH, 4, strides=4)(image)
    memory = _block(keras.layers.Reshape((64, WIDTH))(patches))
    state = _encode(target, tokenizer)
    attended = layers.MultiHeadAttention(4, WIDTH // 4)(state, memory)
    logits = keras.layers.Dense(tokenizer.vocabulary_size)(attended)
    return batches, keras.Model({"image": image, "target": target}, logits)


PIPELINES = {
    pipeline.__name__: pipeline
    for pipeline in (
        translation,
        language_model,
        masked_language_model,
        image_classification,
        captioning,
    )
}


def measure(name: str, *, steps: int, rounds: int) -> dict[str, float]:
    """Time a training step on the pipeline and on batches that lie ready.

    Args:
        name: Of the pipeline.
        steps: Steps that are timed at once.
        rounds: How often each is timed; the best counts.

    Returns:
        Milliseconds for each step: "alone", the pipeline's own; "ready",
        training on a batch in memory; "together"; and "share", what the
        pipeline adds to a step.
    """
    batches, model = PIPELINES[name]()
    model.compile(
        "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    stream = batches.repeat().prefetch(tf.data.AUTOTUNE)
    ready = list(batches.take(8))
    times = {"alone": [], "ready": [], "together": []}
    iterator = iter(stream)
    for inputs, labels in ready:  # traces every shape
        model.train_on_batch(inputs, labels)
    for _ in range(rounds):
        times["alone"].append(_time(lambda _: next(iterator), steps))
        times["ready"].append(
            _time(lambda i: model.train_on_batch(*ready[i % 8]), steps)
        )
        times["together"].append(
            _time(lambda _: model.train_on_batch(*next(iterator)), steps)
        )
    best = {name: min(taken) for name, taken in times.items()}
    return {**best, "share": best["together"] / best["ready"] - 1}


def _time(step, steps):
    started = time.perf_counter()
    for number in range(steps):
        step(number)
    return 1e3 * (time.perf_counter() - started) / steps


def _learn(strings):
    words = text.learn_vocabulary(strings, 4_000, kind="word", verbose=0)
    return text.WordTokenizer(words)


def _tokens(name):
    return keras.Input((None,), dtype="int32", name=name)


def _encode(tokens, tokenizer):
    x = keras.layers.Embedding(
        tokenizer.vocabulary_size, WIDTH, mask_zero=True
    )(tokens)
    for _ in range(2):
        x = _block(x)
    return x


def _block(x):
    attended = layers.MultiHeadAttention(4, WIDTH // 4)(x, x)
    x = keras.layers.LayerNormalization()(keras.layers.Add()([x, attended]))
    hidden = keras.layers.Dense(4 * WIDTH, activation="relu")(x)
    hidden = keras.layers.Dense(WIDTH)(hidden)
    return keras.layers.LayerNormalization()(keras.layers.Add()([x, hidden]))
