"""Documents packed into rows, as `data.language_model(packed=True)` gives."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import data
from keras_attn.models.gpt.model import GPT
from keras_attn.text import ByteTokenizer
from keras_attn.training import MaskedCrossentropy
from tests.models.stepping import set_random

SIZES = {"num_layers": 2, "num_heads": 2, "units": 8, "dropout": 0.0}
KINDS = {
    "learned": {"max_length": 5},
    "sine_post": {"position": "sine", "norm": "post"},
    "rotary_grouped": {
        "position": None,
        "attention": {"modifiers": ["rotary"], "num_kv_heads": 1},
    },
    "window_alibi": {
        "position": None,
        "attention": {"modifiers": ["alibi", "sinks"], "sliding_window": 2},
    },
    "tiled": {"attention": {"implementation": "tiled"}},
}
SEGMENTS = np.array([[1, 1, 1, 2, 2, 2, 2, 0, 0], [1, 1, 1, 1, 1, 2, 3, 3, 3]])


def make(rng, **options):
    model = GPT(11, **SIZES, **options)
    set_random(model, rng)
    return model


@pytest.fixture
def packed(rng):
    tokens = rng.integers(1, 11, size=SEGMENTS.shape)
    return {"tokens": np.where(SEGMENTS == 0, 0, tokens), "segments": SEGMENTS}


def documents():
    """Where each document stands: its row and its slice."""
    for row, segments in enumerate(SEGMENTS):
        for number in range(1, segments.max() + 1):
            (places,) = np.nonzero(segments == number)
            yield row, slice(places[0], places[-1] + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_each_document_is_read_as_if_it_were_alone(kind, packed, rng):
    model = make(rng, **KINDS[kind])
    logits = model(packed)
    assert logits.shape == (*SEGMENTS.shape, 11)
    for row, places in documents():
        alone = model(packed["tokens"][row, places][None])[0]
        np.testing.assert_allclose(
            logits[row, places], alone, rtol=1e-5, atol=1e-5
        )


def test_no_gradient_crosses_a_document(packed, rng):
    model = make(rng)
    vectors = model.embedding(packed["tokens"])
    for row, places in documents():
        with tf.GradientTape() as tape:
            tape.watch(vectors)
            output = model.stack(vectors, segments=packed["segments"])
            loss = tf.reduce_sum(output[row, places] ** 3)
        reached = np.any(tape.gradient(loss, vectors) != 0, axis=-1)
        expected = np.zeros(SEGMENTS.shape, "bool")
        expected[row, places] = True
        np.testing.assert_array_equal(reached, expected)


def test_padding_reaches_nothing_whatever_it_holds(packed, rng):
    # Without an id for padding, too: the segments say it.
    model = make(rng, pad_id=None)
    expected = model(packed)
    other = np.where(SEGMENTS == 0, 7, packed["tokens"])
    found = model({**packed, "tokens": other})
    real = SEGMENTS != 0
    np.testing.assert_array_equal(found[real], expected[real])
    vectors = model.embedding(packed["tokens"])
    poisoned = tf.where(real[..., None], vectors, np.nan)
    clean = model.stack(vectors, segments=SEGMENTS)
    found = model.stack(poisoned, segments=SEGMENTS)
    np.testing.assert_array_equal(found[real], clean[real])


def test_graph_and_xla_agree_with_lengths_unknown(packed, rng):
    model = make(rng)
    expected = model(packed)
    spec = {name: tf.TensorSpec([None, None], tf.int32) for name in packed}
    graph = tf.function(model, input_signature=[spec])
    inputs = {k: tf.constant(x, tf.int32) for k, x in packed.items()}
    np.testing.assert_allclose(graph(inputs), expected, rtol=1e-5, atol=1e-5)
    compiled = tf.function(model, jit_compile=True)
    np.testing.assert_allclose(compiled(inputs), expected, rtol=1e-5, atol=1e-5)


def test_a_larger_model_may_be_built_on_packed_rows(packed, rng):
    model = make(rng)
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name) for name in packed
    }
    larger = keras.Model(inputs, model(inputs) * 2.0)
    np.testing.assert_allclose(larger(packed), 2 * model(packed), rtol=1e-5)


def test_plain_ids_are_as_ever(packed, rng):
    model = make(rng)
    tokens = packed["tokens"][1:]
    one = {"tokens": tokens, "segments": np.ones_like(tokens)}
    np.testing.assert_allclose(model(one), model(tokens), rtol=1e-5, atol=1e-6)
    assert [x.name for x in model.inputs] == ["tokens"]


def test_a_prompt_is_not_packed(packed, rng):
    with pytest.raises(ValueError, match="A prompt is one text in a row"):
        make(rng).encode(packed, 3)


def test_it_learns_from_packed_windows():
    texts = tf.data.Dataset.from_tensor_slices(
        {"text": ["abab", "ba", "babab", "aba"]}
    )
    tokenizer = ByteTokenizer()
    windows = data.language_model(texts, tokenizer, length=12, packed=True)
    inputs, labels = next(iter(windows.batch(8)))
    assert inputs["segments"].numpy().max() > 1
    model = GPT(
        tokenizer.vocabulary_size,
        **{**SIZES, "num_layers": 1},
        pad_id=tokenizer.pad_id,
        max_length=8,  # of a document, not of a row
    )
    loss = MaskedCrossentropy(pad_id=tokenizer.pad_id)
    model.compile(keras.optimizers.Adam(0.05), loss)
    batches = windows.batch(8).repeat()
    history = model.fit(batches, steps_per_epoch=12, shuffle=False, verbose=0)
    assert history.history["loss"][-1] < 0.8 * loss(labels, 0 * model(inputs))
