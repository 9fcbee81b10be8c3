import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.models.rnn_captioner.decoder import CaptionDecoder
from tests.loops import products_in_loops
from tests.models.recurrent_equations import STEPS
from tests.models.recurrent_equations import sigmoid
from tests.models.stepping import set_random

BATCH, TARGET, KEY = 2, 4, 5
FEATURES, SEEN, UNITS, VOCABULARY, HIDDEN = 3, 6, 7, 8, 9
MASK = np.array([[True, True, True, False], [True] * 4])
KINDS = {
    "lstm": {"cell": "lstm"},
    "gru": {"cell": "gru"},
    "ungated": {"cell": "simple", "gate": False},
    "mean": {"cell": "lstm", "attention": None},
    "state": {"cell": "gru", "attention": None, "context": "state"},
}


@pytest.fixture
def words(rng):
    return rng.normal(size=(BATCH, TARGET, FEATURES))


@pytest.fixture
def image(rng):
    return rng.normal(size=(BATCH, KEY, SEEN))


def make(rng, **options):
    policy = {"dtype": "float64"}
    attention = AdditiveAttention(HIDDEN, use_bias=True, **policy)
    options = {"attention": attention, **options}
    decoder = CaptionDecoder(VOCABULARY, UNITS, **options, **policy)
    decoder.build((None, None, FEATURES), (None, KEY, SEEN))
    set_random(decoder, rng)
    return decoder


def weights_of(*layers):
    return [np.array(x) for layer in layers for x in layer.get_weights()]


def oracle(decoder, words, image):
    """Logits and attention weights by the equations of Xu et al. 2015."""
    mean = image.mean(axis=1)
    states = []
    for dense in decoder.first_states:  # section 3.1.2
        kernel, bias = weights_of(dense)
        states.append(np.tanh(mean @ kernel + bias))
    cell = weights_of(decoder.recurrent_cell)
    l_h, l_o, b_o = weights_of(decoder.of_state, decoder.logits)
    logits, looked = [], []
    for t in range(words.shape[1]):
        x, h, context = words[:, t], states[0], None
        if decoder.attention is not None:  # equations 4 to 6, 13
            w_h, b = weights_of(decoder.attention.query_dense)
            (w_a,) = weights_of(decoder.attention.key_dense)
            v = np.array(decoder.attention.score_vector)
            e = np.tanh((h @ w_h + b)[:, None] + image @ w_a) @ v
            alpha = np.exp(e) / np.exp(e).sum(axis=1, keepdims=True)
            looked.append(alpha)
            context = np.einsum("bk,bkf->bf", alpha, image)
            if decoder.gate:  # section 4.2.1
                w_b, b_b = weights_of(decoder.attending_cell.gate_dense)
                context = sigmoid(h @ w_b + b_b) * context
        elif decoder.context == "input":
            context = mean
        fed = x if context is None else np.concatenate([x, context], -1)
        states = STEPS[decoder.cell](fed, *states, *cell)  # equations 1 to 3
        deep = x + states[0] @ l_h  # equation 7
        if context is not None:
            deep = deep + context @ weights_of(decoder.of_context)[0]
        logits.append(deep @ l_o + b_o)
    return np.stack(logits, 1), np.stack(looked, 1) if looked else None


@pytest.mark.parametrize(
    "kind",
    [
        *("lstm", "mean", "state"),
        pytest.param("gru", marks=pytest.mark.slow),
        pytest.param("ungated", marks=pytest.mark.slow),
    ],
)
def test_matches_the_equations(kind, words, image, rng):
    decoder = make(rng, **KINDS[kind])
    expected, _ = oracle(decoder, words, image)
    found = decoder(words, image)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    masked = decoder(words, image, mask=MASK)
    np.testing.assert_allclose(masked[MASK], expected[MASK], rtol=1e-9)


@pytest.mark.parametrize("kind", ["lstm", "mean", "state"])
def test_steps_are_those_of_the_call(kind, words, image, rng):
    decoder = make(rng, **KINDS[kind])
    expected, looked = oracle(decoder, words, image)
    states, memory = decoder.begin(image)
    for t in range(TARGET):
        x = tf.constant(words[:, t])
        outputs, states = decoder.step(x, states, memory)
        logits = decoder.readout(x, outputs)
        np.testing.assert_allclose(logits, expected[:, t], rtol=1e-9)
        if looked is not None:
            np.testing.assert_allclose(outputs["weights"], looked[:, t])


@pytest.mark.parametrize(("kind", "number"), [("lstm", 6), ("mean", 2)])
def test_the_loop_has_no_product_that_all_steps_share(
    kind, number, words, image, rng
):
    decoder = make(rng, **KINDS[kind])
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in (words, image)]
    (products,) = products_in_loops(tf.function(decoder), *specs)
    # C z and U h; W_h h, w · tanh(…), the weighted sum and the gate: no W x.
    assert len(products) == number, products


def test_the_loss_asks_for_even_attention(words, image, rng):
    decoder = make(rng, doubly_stochastic=0.3)
    _, looked = oracle(decoder, words, image)
    for mask in (MASK, None):
        decoder(words, image, mask=mask)
        (loss,) = decoder.losses
        real = np.ones_like(MASK) if mask is None else mask
        total = (looked * real[:, :, None]).sum(axis=1)  # equation 14
        expected = 0.3 * ((1 - total) ** 2).sum() / real.sum()
        np.testing.assert_allclose(loss, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "mean"])
def test_without_a_weight_there_is_no_loss(kind, words, image, rng):
    weight = 0.0 if kind == "lstm" else 1.0
    decoder = make(rng, doubly_stochastic=weight, **KINDS[kind])
    decoder(words, image)
    assert not decoder.losses


def test_half_of_what_makes_logits_is_dropped_in_training(words, image, rng):
    decoder = make(rng, dropout=0.5)
    calm, dropped = (decoder(words, image, training=x) for x in (False, True))
    assert not np.allclose(calm, dropped)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"context": "layer"}, "`context` must be one of"),
        ({"context": "state"}, "it enters every step"),
        ({"cell": "rnn"}, "`cell` must be one of"),
        ({"dropout": 1.5}, "dropout"),
        ({"doubly_stochastic": -1.0}, "0 or more"),
    ],
)
def test_what_cannot_be_made_is_refused(options, complaint, rng):
    with pytest.raises(ValueError, match=complaint):
        make(rng, **options)


def test_what_is_remembered_is_dropped_while_training(rng, words, image):
    decoder = make(rng, state_dropout=0.5)
    logits = decoder(words, image)
    np.testing.assert_array_equal(decoder(words, image, training=False), logits)
    first, second = (decoder(words, image, training=True) for _ in range(2))
    # The first word comes of h(0), of which parts are dropped too.
    for step in range(TARGET):
        assert (first[:, step] != second[:, step]).numpy().any()
