import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import generate
from keras_attn.models.rnn_language_model.model import RNNLanguageModel
from keras_attn.training import MaskedCrossentropy
from tests.contract import check_model
from tests.models import recurrent_equations
from tests.models.stepping import ops_of
from tests.models.stepping import set_random
from tests.models.stepping import step_through

LENGTH = 6
IMAGE = (4, 3, 2)


def image_encoder(dtype="float32"):
    return keras.Sequential(
        [
            keras.Input(IMAGE, dtype=dtype),
            keras.layers.Conv2D(3, 2, dtype=dtype),
            keras.layers.GlobalAveragePooling2D(dtype=dtype),
        ]
    )


KINDS = {
    "lstm": {},
    "stacked_tied_gru": {
        "cell": "gru",
        "num_layers": 2,
        "tie_embeddings": True,
    },
    "one_hot_simple": {"cell": "simple", "one_hot": True, "pad_id": None},
    "vector": {"num_layers": 2, "embedding_dim": 4, "condition": 3},
    "image": {"cell": "gru", "condition": image_encoder},
}


def make(rng, kind, **options):
    options = {"units": 5, **KINDS[kind], **options}
    if callable(options.get("condition")):
        options["condition"] = image_encoder(options.get("dtype", "float32"))
    model = RNNLanguageModel(11, **options)
    set_random(model, rng)
    return model


def given(kind, tokens, rng):
    """What a kind is called with."""
    if kind == "vector":
        return {"tokens": tokens, "condition": rng.normal(size=(3, 3))}
    if kind == "image":
        return {"tokens": tokens, "condition": rng.normal(size=(3, *IMAGE))}
    return tokens


def first(inputs, length):
    """Inputs with fewer tokens."""
    if isinstance(inputs, dict):
        return {**inputs, "tokens": inputs["tokens"][:, :length]}
    return inputs[:, :length]


@pytest.fixture
def tokens(rng):
    return rng.integers(1, 11, size=(3, LENGTH))


@pytest.mark.parametrize(
    "kind", ["lstm", pytest.param("image", marks=pytest.mark.slow)]
)
def test_contract(kind, tokens, rng, tmp_path):
    options = dict(KINDS[kind])
    if kind == "image":
        options["condition"] = image_encoder()
    inputs = given(kind, tokens, rng)
    check_model(
        RNNLanguageModel,
        {"vocabulary_size": 11, "units": 5, "dropout": 0.1, **options},
        inputs,
        tmp_path=tmp_path,
        padded=("tokens",) if isinstance(inputs, dict) else ("",),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_matches_the_equations(kind, tokens, rng):
    model = make(rng, kind, dtype="float64")
    inputs = given(kind, tokens, rng)
    by_name = {layer.name: layer for layer in model.layers}

    def weights(name):
        return [np.array(weight) for weight in by_name[name].weights]

    if KINDS[kind].get("one_hot"):
        x = np.eye(11)[tokens]
    else:
        x = weights("embedding")[0][tokens]
    vector = None
    if kind == "vector":
        vector = inputs["condition"]
    if kind == "image":
        kernel, bias = (np.array(w) for w in model.condition_encoder.weights)
        vector = mean_of_convolution(inputs["condition"], kernel, bias)
    cell = KINDS[kind].get("cell", "lstm")
    for number in range(KINDS[kind].get("num_layers", 1)):
        states = [np.zeros((3, 5))] * (2 if cell == "lstm" else 1)
        if vector is not None:
            maps = [weights(f"first_{s}_{number}") for s in "hc"[: len(states)]]
            states = [np.tanh(vector @ w + b) for w, b in maps]
        x = recurrent_equations.run(
            cell, x, weights(f"recurrent_{number}"), states
        )
    if KINDS[kind].get("tie_embeddings"):
        logits = x @ weights("embedding")[0].T
    else:
        kernel, bias = weights("logits")
        logits = x @ kernel + bias
    np.testing.assert_allclose(model(inputs), logits, rtol=1e-10, atol=1e-10)


def mean_of_convolution(images, kernel, bias):
    height, width = IMAGE[0] - 1, IMAGE[1] - 1
    total = 0
    for row, column in np.ndindex(height, width):
        patch = images[:, row : row + 2, column : column + 2]
        total += np.einsum("bhwc,hwcd->bd", patch, kernel) + bias
    return total / (height * width)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_forward_pass(kind, tokens, rng):
    model = make(rng, kind)
    inputs = given(kind, tokens, rng)
    full = model(inputs)
    for prompt in (0, 4):
        begun = first(inputs, prompt)
        state = model.encode(begun, LENGTH - prompt)
        assert {leaf.shape[0] for leaf in keras.tree.flatten(state)} == {3}
        logits, _ = step_through(model, state, tokens[:, prompt:])
        np.testing.assert_allclose(
            logits, full[:, prompt:], rtol=1e-5, atol=1e-5
        )
        np.testing.assert_allclose(
            model.teacher_forced(begun, tokens[:, prompt:]),
            full[:, prompt:],
            rtol=1e-5,
            atol=1e-5,
        )


@pytest.mark.parametrize("form", ["ragged", "filled_up", "lengths"])
def test_ragged_prompts_go_on_each_from_its_end(form, tokens, rng):
    model = make(rng, "lstm")
    lengths = [2, 4, 1]
    rows = [row[:length] for row, length in zip(tokens, lengths, strict=True)]
    prompts = tf.ragged.constant([list(row) for row in rows])
    if form == "filled_up":
        prompts = prompts.to_tensor(0)
    if form == "lengths":  # what fills up is then not looked at
        prompts = {"tokens": prompts.to_tensor(7), "lengths": lengths}
    inputs, last = model.prompt(prompts)
    np.testing.assert_array_equal(last, [row[-1] for row in rows])
    logits, _ = model.step(last, model.encode(inputs, 5))
    for row, scores in zip(rows, logits, strict=True):
        np.testing.assert_allclose(
            scores, model(row[None])[0, -1], rtol=1e-5, atol=1e-5
        )


def test_a_text_without_a_prompt_starts_from_its_start(rng):
    model = make(rng, "vector", start_id=2)
    condition = rng.normal(size=(3, 3)).astype("float32")
    inputs, last = model.prompt({"condition": condition})
    np.testing.assert_array_equal(last, [2, 2, 2])
    logits, _ = model.step(last, model.encode(inputs, 1))
    start = {"tokens": np.full((3, 1), 2), "condition": condition}
    np.testing.assert_allclose(logits, model(start)[:, 0], rtol=1e-5, atol=1e-5)
    model = make(rng, "lstm")
    _, last = model.prompt(tf.ragged.constant([[], [4]], dtype=tf.int32))
    np.testing.assert_array_equal(last, [0, 4])


@pytest.mark.parametrize(
    "search",
    ["greedy", "beam", pytest.param("sample", marks=pytest.mark.slow)],
)
def test_every_search_writes(search, tokens, rng):
    model = make(rng, "stacked_tied_gru")
    written = generate(model, tokens, search=search, max_length=4, end_id=-1)
    if search == "beam":
        written = written[0][:, 0]
    assert written.shape == (3, 4)
    if search == "greedy":
        row = tokens
        for _ in range(4):
            best = np.argmax(model(row)[:, -1], axis=-1)
            row = np.concatenate([row, best[:, None]], axis=1)
        np.testing.assert_array_equal(written, row[:, LENGTH:])


def test_what_is_written_depends_on_the_condition(tokens, rng):
    model = make(rng, "image", start_id=1)
    images = 9 * rng.normal(size=(3, *IMAGE)).astype("float32")
    images[2] = images[0]
    written = generate(model, {"condition": images}, max_length=5, end_id=-1)
    np.testing.assert_array_equal(written[0], written[2])
    assert np.any(written[0] != written[1])


def test_any_batch_and_length_in_one_graph_that_servers_accept(tokens, rng):
    model = make(rng, "lstm")

    def two_steps(prompts):
        inputs, token = model.prompt(prompts)
        state = model.encode(inputs, 2)
        first, state = model.step(token, state, 0)
        second, _ = model.step(token, state, 1)
        return first, second

    spec = tf.TensorSpec((None, None), tf.int32)
    graph = tf.function(two_steps, autograph=False).get_concrete_function(spec)
    assert not [op for op in ops_of(graph) if op.startswith(("Xla", "Cudnn"))]
    compiled = tf.function(two_steps, autograph=False, jit_compile=True)
    for shape, run in (((3, 5), graph), ((2, 0), graph), ((3, 5), compiled)):
        prompts = tf.constant(tokens[: shape[0], : shape[1]], tf.int32)
        for one, two in zip(run(prompts), two_steps(prompts), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


def test_learns_from_a_batch(tokens):
    model = RNNLanguageModel(11, units=8, cell="gru", dropout=0.1)
    model.compile(
        keras.optimizers.Adam(0.03), MaskedCrossentropy(), jit_compile=False
    )
    history = model.fit(
        tokens[:, :-1], tokens[:, 1:], epochs=8, verbose=0
    ).history
    assert history["loss"][-1] < history["loss"][0] - 0.2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"cell": "rnn"}, "`cell` must be one of"),
        ({"num_layers": 0}, "`num_layers` must be"),
        ({"dropout": 1.0}, "`dropout` must be"),
        ({"one_hot": True, "tie_embeddings": True}, "have no embeddings"),
        ({"one_hot": True, "embedding_dim": 3}, "have no embeddings"),
        ({"tie_embeddings": True, "embedding_dim": 3}, "as long as the state"),
    ],
)
def test_what_makes_no_model_is_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        RNNLanguageModel(11, units=5, **options)


def test_a_missing_condition_is_named(tokens, rng):
    with pytest.raises(ValueError, match=r"Give .*condition"):
        make(rng, "vector").encode(tokens, 2)
