import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import generate
from keras_attn.decoding import greedy
from keras_attn.models.gpt.model import GPT
from keras_attn.modifiers import Rotary
from keras_attn.modifiers import SoftCap
from keras_attn.training import MaskedCrossentropy
from tests.contract import check_model
from tests.models.stepping import ops_of
from tests.models.stepping import set_random
from tests.models.stepping import step_through

SIZES = {"num_layers": 2, "num_heads": 4, "units": 8, "hidden_dim": 5}
LINEAR = {"kind": "linear", "factor": 2.0}
KINDS = {
    "plain": {},
    "untied": {"tie_embeddings": False, "pad_id": None},
    "grouped_rotary": {
        "position": None,
        "attention": {"num_kv_heads": 2, "modifiers": [Rotary()]},
    },
    "window": {"attention": {"sliding_window": 3}},
    "window_alibi": {
        "position": None,
        "attention": {"sliding_window": 4, "modifiers": ["alibi"]},
    },
    "relative": {
        "position": None,
        "attention": {"modifiers": ["relative_bias", "qk_norm", "sinks"]},
    },
    "llama": {
        "position": None,
        "normalization": "rms",
        "activation": "swiglu",
        "use_bias": False,
        "attention": {"num_kv_heads": 1, "modifiers": ["rotary"]},
    },
    "gemma": {
        "num_layers": 2,
        "position": None,
        "norm": "both",
        "normalization": "rms",
        "activation": "geglu_tanh",
        "use_bias": False,
        "scale_embedding": True,
        "logit_soft_cap": 2.0,
        "attention": [
            {
                "sliding_window": 3,
                "num_kv_heads": 2,
                "use_bias": True,
                "use_output_bias": False,
                "modifiers": ["rotary"],
            },
            {"modifiers": [SoftCap(1.5), Rotary(scaling=LINEAR)]},
        ],
    },
    "post_sine_gate": {
        "norm": "post",
        "position": "sine",
        "attention": {"use_gate": True, "key_dim": 3, "value_dim": 5},
    },
}
ONE_LAYER = {**SIZES, "num_layers": 1}
LENGTH = 9


def make(rng, **options):
    model = GPT(11, **{**SIZES, "max_length": 16, "dropout": 0.0, **options})
    set_random(model, rng)
    return model


@pytest.fixture
def tokens(rng):
    return rng.integers(1, 11, size=(3, LENGTH))


@pytest.mark.parametrize("kind", ["plain", "relative", "gemma"])
def test_contract(kind, tokens, tmp_path):
    given = {"vocabulary_size": 11, "dropout": 0.1, **KINDS[kind]}
    if isinstance(given.get("attention"), list):
        given["attention"] = given["attention"][:1]
    check_model(
        GPT,
        {**given, **ONE_LAYER},
        tokens,
        tmp_path=tmp_path,
        padded=("",),
        powerless=["key/bias"],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_forward_pass(kind, tokens, rng):
    # That layers keep their caches apart is seen in two kinds.
    deep = {} if kind in ("plain", "window", "gemma") else {"num_layers": 1}
    model = make(rng, **KINDS[kind], **deep)
    full = model(tokens)
    assert full.shape == (3, LENGTH, 11)
    for prompt in (0, 1, 5):
        state = model.encode(tokens[:, :prompt], LENGTH - prompt)
        logits, state = step_through(model, state, tokens[:, prompt:])
        np.testing.assert_allclose(
            logits, full[:, prompt:], rtol=1e-5, atol=1e-5
        )
        np.testing.assert_array_equal(state.carried["position"], [LENGTH] * 3)
    assert {leaf.shape[0] for leaf in keras.tree.flatten(state)} == {3}


@pytest.mark.parametrize(
    "kind", ["plain", "window_alibi", "grouped_rotary", "gemma"]
)
@pytest.mark.parametrize(
    "form", ["ragged", "filled_up", "dictionary", "lengths"]
)
def test_ragged_prompts_go_on_each_from_its_end(kind, form, tokens, rng):
    model = make(rng, **KINDS[kind])
    lengths = [2, 5, 1]
    rows = [row[:length] for row, length in zip(tokens, lengths, strict=True)]
    prompts = tf.ragged.constant([list(row) for row in rows])
    if form == "filled_up":
        prompts = prompts.to_tensor(0)
    if form == "dictionary":
        prompts = {"tokens": prompts}
    if form == "lengths":  # what fills up is then not looked at
        prompts = {"tokens": prompts.to_tensor(7), "lengths": lengths}
    inputs, last = model.prompt(prompts)
    np.testing.assert_array_equal(last, [row[-1] for row in rows])
    starts = np.array(lengths)[:, None]
    following = np.take_along_axis(tokens, starts + np.arange(4), axis=1)
    fed = np.concatenate([last[:, None], following], axis=1)
    logits, _ = step_through(model, model.encode(inputs, 5), fed)
    for row, length, scores in zip(tokens, lengths, logits, strict=True):
        full = model(row[None, : length + 4])[0, length - 1 :]
        np.testing.assert_allclose(scores, full, rtol=1e-5, atol=1e-5)


def test_a_prompt_without_a_token_starts_from_padding(rng):
    model = make(rng)
    for empty in (tf.ragged.constant([[], []], dtype=tf.int32), [[0, 0]] * 2):
        inputs, last = model.prompt(empty)
        np.testing.assert_array_equal(last, [0, 0])
        logits, _ = model.step(last, model.encode(inputs, 1))
        assert np.isfinite(logits).all()


@pytest.mark.parametrize(
    "kind",
    [
        "window",
        pytest.param("plain", marks=pytest.mark.slow),
        pytest.param("grouped_rotary", marks=pytest.mark.slow),
    ],
)
def test_any_batch_and_length_in_one_graph_that_servers_accept(
    kind, tokens, rng
):
    model = make(rng, **KINDS[kind], num_layers=1)

    def two_steps(prompts):
        inputs, token = model.prompt(prompts)
        state = model.encode(inputs, 2)
        first, state = model.step(token, state, 0)
        second, _ = model.step(token, state, 1)
        return first, second

    spec = tf.TensorSpec((None, None), tf.int32)
    graph = tf.function(two_steps, autograph=False).get_concrete_function(spec)
    assert not [op for op in ops_of(graph) if op.startswith("Xla")]
    compiled = tf.function(two_steps, autograph=False, jit_compile=True)
    for shape, run in (((3, 5), graph), ((2, 1), graph), ((3, 5), compiled)):
        prompts = tf.constant(tokens[: shape[0], : shape[1]], tf.int32)
        for one, two in zip(run(prompts), two_steps(prompts), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_texts_follow_when_the_model_is_changed(tokens, rng):
    model = make(rng, num_layers=1)

    def texts(search):
        settings = dict(max_length=4, end_id=-1)
        if search is generate:
            return generate(model, tokens, **settings).numpy()
        inputs, last = model.prompt(tokens)
        state = model.encode(inputs, 4)
        return greedy(
            model.step, state, batch_size=3, start_id=last, **settings
        ).numpy()

    def adapt():
        layer = model.stack.blocks[0].self_attention.output_dense
        layer.enable_lora(2)
        layer.lora_kernel_b.assign(5 * rng.normal(size=(2, 8)))
        layer.lora_kernel_a.assign(rng.normal(size=(4, 2, 2)))

    def replace():
        model.stack.blocks[0] = make(rng, num_layers=1).stack.blocks[0]

    answers = [texts(generate)]
    for change in (adapt, replace, lambda: model.quantize("int8")):
        change()
        answers.append(texts(generate))
        np.testing.assert_array_equal(answers[-1], texts(greedy))
    assert np.any(answers[0] != answers[1])
    assert np.any(answers[1] != answers[2])


def test_too_long_a_text_is_refused_before_the_first_step(tokens, rng):
    model = make(rng, max_length=12)
    model.encode(tokens, 3)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="learned 12 positions"
    ):
        model.encode(tokens, 4)


@pytest.mark.parametrize("pad_id", [0, 3])
def test_padding_changes_nothing_at_real_positions(pad_id, tokens, rng):
    tokens = np.where(tokens == pad_id, 5, tokens)
    model = make(rng, pad_id=pad_id)
    padded = np.pad(tokens, ((0, 0), (0, 4)), constant_values=pad_id)
    logits = model(padded)
    np.testing.assert_array_equal(logits._keras_mask, padded != pad_id)
    np.testing.assert_allclose(
        logits[:, :LENGTH], model(tokens), rtol=1e-5, atol=1e-5
    )


def test_a_step_past_the_state_is_no_answer(tokens, rng):
    model = make(rng, **KINDS["llama"])
    state = model.encode(tokens[:, :2], 2)
    _, state = step_through(model, state, tokens[:, 2:4])
    with pytest.raises(ValueError, match="room for 2 tokens"):
        model.step(tokens[:, 4], state)
    logits, _ = tf.function(model.step, autograph=False)(
        tf.constant(tokens[:, 4]), state
    )
    assert np.isnan(logits).all()


def test_without_a_pad_id_nothing_is_masked(tokens, rng):
    model = make(rng, pad_id=None)
    assert getattr(model(tokens), "_keras_mask", None) is None
    assert np.any(model(tokens * 0)[:, 1] != model(tokens * 0)[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_later_tokens_change_nothing_earlier(kind, tokens, rng):
    model = make(rng, **KINDS[kind])
    changed = tokens.copy()
    changed[:, 6:] = 1 + changed[:, 6:] % 10
    before, after = model(tokens), model(changed)
    np.testing.assert_allclose(before[:, :6], after[:, :6], atol=1e-6)
    assert np.all(np.any(before[:, 6:] != after[:, 6:], axis=-1))


def test_learns_from_a_batch(tokens):
    model = GPT(11, **{**SIZES, "num_layers": 1}, max_length=LENGTH)
    model.compile(
        keras.optimizers.Adam(0.01), MaskedCrossentropy(), jit_compile=False
    )
    history = model.fit(
        tokens[:, :-1], tokens[:, 1:], epochs=8, verbose=0
    ).history
    assert history["loss"][-1] < history["loss"][0] - 0.2


def test_half_precision_is_close(tokens, rng):
    model = make(rng)
    half = make(rng, dtype="mixed_float16")
    half.set_weights(model.get_weights())
    logits = half(tokens)
    assert logits.dtype == "float16"
    np.testing.assert_allclose(
        tf.cast(logits, "float32"), model(tokens), atol=0.1
    )
    stepped, _ = step_through(half, half.encode(tokens[:, :0], LENGTH), tokens)
    assert stepped.dtype == "float16"
    np.testing.assert_allclose(
        stepped.astype("float32"), tf.cast(logits, "float32"), atol=0.1
    )


def test_the_logits_are_capped_in_every_way(tokens, rng):
    tokens = tokens[:, :4]
    sizes = {"num_layers": 1, "pad_id": None, "scale_embedding": True}
    free = make(rng, **sizes)
    model = make(rng, **sizes, logit_soft_cap=0.5)
    model.set_weights(free.get_weights())
    expected = 0.5 * np.tanh(np.asarray(free(tokens), "float64") / 0.5)
    packed = {"tokens": tokens, "segments": np.ones_like(tokens)}
    for logits in (
        model(tokens),
        model(packed),
        model.teacher_forced(tokens[:, :0], tokens),
        step_through(model, model.encode(tokens[:, :0], 4), tokens)[0],
    ):
        np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_the_embedding_is_scaled_on_the_way_in_alone(tokens, rng):
    model = make(rng, position=None)
    scaled = make(rng, position=None, scale_embedding=True)
    scaled.set_weights(model.get_weights())
    vectors = scaled.embedding(tokens)
    np.testing.assert_allclose(
        vectors, np.sqrt(8) * model.embedding(tokens), rtol=1e-6
    )
    np.testing.assert_allclose(
        scaled.embedding(vectors, reverse=True),
        model.embedding(vectors, reverse=True),
    )


@pytest.mark.parametrize("kind", ["relative", "gemma"])
def test_is_saved_with_its_modifiers(kind, tokens, rng, tmp_path):
    model = make(rng, **KINDS[kind])
    model.save(tmp_path / "gpt.keras")
    loaded = keras.saving.load_model(tmp_path / "gpt.keras")
    assert type(loaded) is GPT
    np.testing.assert_array_equal(loaded(tokens), model(tokens))


@pytest.mark.parametrize("kind", ["plain", "llama"])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_maps_to_the_residual_path_start_smaller(kind, num_layers):
    keras.utils.set_random_seed(5)
    sizes = {"num_layers": num_layers, "units": 64, "num_heads": 4}
    model = GPT(11, **sizes, **KINDS[kind])
    shrunk = 0.02 / np.sqrt(2 * num_layers)
    for block in model.stack.blocks:
        attention, forward = block.self_attention, block.feed_forward
        for layer, deviation in (
            (attention.output_dense, shrunk),
            (forward.output_dense, shrunk),
            (attention.query_dense, 0.02),
            (forward.hidden_dense, 0.02),
        ):
            # 4,096 weights and more: three deviations of their own deviation.
            np.testing.assert_allclose(
                np.std(layer.kernel), deviation, rtol=3 / np.sqrt(2 * 64**2)
            )
    first, *others = (block.feed_forward for block in model.stack.blocks)
    for other in others:
        assert np.any(first.output_dense.kernel != other.output_dense.kernel)


def test_heads_that_do_not_divide_the_features_are_refused():
    with pytest.raises(ValueError, match="`num_heads` must divide"):
        GPT(11, **{**SIZES, "num_heads": 3})
