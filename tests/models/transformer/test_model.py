import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.base.state import State
from keras_attn.decoding import generate
from keras_attn.models.transformer.model import Transformer
from keras_attn.training import MaskedCrossentropy
from tests.contract import check_model
from tests.models.stepping import ops_of
from tests.models.stepping import set_random
from tests.models.stepping import step_through

SIZES = {"num_layers": 2, "num_heads": 4, "units": 8, "hidden_dim": 5}
KINDS = {
    "plain": {},
    "pre_learned_deeper": {
        "norm": "pre",
        "position": "learned",
        "num_decoder_layers": 3,
        "embedding_norm": True,
        "scale_embedding": False,
    },
    "grouped_rotary": {
        "position": None,
        "attention": {"num_kv_heads": 2, "modifiers": ["rotary"]},
    },
    "window": {"attention": {"sliding_window": 3}},
    "alibi": {"position": None, "attention": {"modifiers": ["alibi"]}},
    "final_norm": {"final_norm": True, "normalization": "rms"},
    "marian": {
        "position": "split_sine",
        "logits_bias": True,
        "pad_starts": True,
    },
    "t5": {
        "position": None,
        "relative_bias": {"num_buckets": 6, "max_distance": 5},
        "norm": "pre",
        "normalization": "rms",
        "activation": "geglu_tanh",
        "use_bias": False,
        "attention": {"key_dim": 3},
        "scale_embedding": False,
        "tie_embeddings": False,
        "scale_logits": True,
        "pad_starts": True,
    },
}
KINDS["all_of_t5_and_marian"] = KINDS["t5"] | KINDS["marian"]
SOURCE, TARGET = 7, 6


def make(rng, **options):
    if "source_vocabulary_size" not in options:
        options["vocabulary_size"] = 11
    model = Transformer(**{**SIZES, "max_length": 16, "dropout": 0, **options})
    set_random(model, rng)
    return model


@pytest.fixture
def batch(rng):
    source = rng.integers(1, 11, size=(3, SOURCE))
    source[1, 4:] = 0
    return {"source": source, "target": rng.integers(1, 11, size=(3, TARGET))}


@pytest.mark.parametrize("kind", ["pre_learned_deeper", "all_of_t5_and_marian"])
def test_contract(kind, batch, tmp_path):
    check_model(
        Transformer,
        {
            **SIZES,
            **KINDS[kind],
            "vocabulary_size": 11,
            "num_layers": 1,
            "num_decoder_layers": 1,
            "dropout": 0.1,
        },
        batch,
        tmp_path=tmp_path,
        padded=("source", "target"),
        powerless=["key/bias"],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_forward_pass(kind, batch, rng):
    model = make(rng, **KINDS[kind])
    full = model(batch)
    assert full.shape == (3, TARGET, 11)
    state = model.encode(batch["source"], TARGET)
    keras.tree.map_structure(
        np.testing.assert_array_equal,
        model.encode({"source": batch["source"]}, TARGET),
        state,
    )
    logits, state = step_through(model, state, batch["target"])
    np.testing.assert_allclose(logits, full, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(state.carried["position"], [TARGET] * 3)
    assert {leaf.shape[0] for leaf in keras.tree.flatten(state)} == {3}


@pytest.mark.parametrize("form", ["alone", "dictionary"])
def test_ragged_sources_are_generated_from(form, batch, rng):
    model = make(rng, num_layers=1)
    source = tf.ragged.constant([[1, 2], [4, 5, 6, 1], [2]])
    dense = source.to_tensor(0)
    if form == "dictionary":
        source, dense = {"source": source}, {"source": dense}
    settings = dict(max_length=4, start_id=1, end_id=0)
    np.testing.assert_array_equal(
        generate(model, source, **settings), generate(model, dense, **settings)
    )
    unpadded = make(rng, num_layers=1, pad_id=None)
    with pytest.raises(ValueError, match="this model has pad_id=None"):
        unpadded.encode(source, 2)


def test_steps_leave_the_memory_as_it_is(batch, rng):
    model = make(rng)
    state = model.encode(batch, TARGET)
    constant = state.constant
    _, state = step_through(model, state, batch["target"])
    assert state.constant is constant


def test_the_alignment_says_where_each_token_looked(batch, rng):
    model = make(rng)
    batch["target"][2, 3] = 0  # which a step would not ask about either
    found = model.alignment(batch["source"], batch["target"])
    assert found.shape == (3, TARGET, SOURCE)
    decoder = model.decoder
    state = model.encode(batch, TARGET)
    caches = State(state.carried["caches"], state.constant["caches"])
    memories = state.constant["memories"]
    for position in range(TARGET):
        _, caches, weights = decoder.step(
            model.target_embedding(batch["target"][:, position]),
            caches,
            np.array([position] * 3),
            memories,
        )
        np.testing.assert_allclose(
            found[:, position],
            np.mean(weights[:, :, 0], axis=1),
            rtol=1e-5,
            atol=1e-6,
        )
    np.testing.assert_allclose(np.sum(found, axis=-1), 1, atol=1e-5)
    assert not np.any(found[1, :, 4:])


@pytest.mark.parametrize(
    "kind", ["grouped_rotary", pytest.param("window", marks=pytest.mark.slow)]
)
def test_any_batch_and_length_in_one_graph_that_servers_accept(
    kind, batch, rng
):
    model = make(rng, **KINDS[kind], num_layers=1)

    def two_steps(source):
        state = model.encode(source, 2)
        token = source[:, 0]
        first, state = model.step(token, state, 0)
        second, state = model.step(token, state, 1)
        return first, second, model.alignment(source, source[:, :2])

    spec = tf.TensorSpec((None, None), tf.int32)
    graph = tf.function(two_steps, autograph=False).get_concrete_function(spec)
    assert not [op for op in ops_of(graph) if op.startswith("Xla")]
    compiled = tf.function(two_steps, autograph=False, jit_compile=True)
    for shape, run in (((3, 7), graph), ((2, 4), graph), ((2, 4), compiled)):
        source = tf.constant(batch["source"][: shape[0], : shape[1]], tf.int32)
        for one, two in zip(run(source), two_steps(source), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_at_real_positions(kind, batch, rng):
    model = make(rng, **KINDS[kind])
    padded = {
        "source": np.pad(batch["source"], ((0, 0), (0, 3))),
        "target": np.pad(batch["target"], ((0, 0), (0, 2))),
    }
    logits = model(padded)
    np.testing.assert_array_equal(logits._keras_mask, padded["target"] != 0)
    np.testing.assert_allclose(
        logits[:, :TARGET], model(batch), rtol=1e-5, atol=1e-5
    )
    alone = {"source": batch["source"][1:2, :4], "target": batch["target"][1:2]}
    np.testing.assert_allclose(
        logits[1:2, :TARGET], model(alone), rtol=1e-5, atol=1e-5
    )


def test_another_pad_id_or_none(batch, rng):
    batch = {name: np.where(ids == 10, 9, ids) for name, ids in batch.items()}
    ten = {name: np.where(ids == 0, 10, ids) for name, ids in batch.items()}
    zero, other, none = (make(rng, pad_id=pad_id) for pad_id in (0, 10, None))
    for model in (other, none):
        model.set_weights(zero.get_weights())
    np.testing.assert_array_equal(other(ten)._keras_mask, ten["target"] != 10)
    np.testing.assert_allclose(other(ten), zero(batch), rtol=1e-5, atol=1e-5)
    assert np.any(abs(none(batch) - zero(batch))[1] > 1e-3)
    assert "mask" not in none.encode(batch, 2).constant


@pytest.mark.parametrize("kind", ["marian", "t5"])
def test_padding_counts_where_it_starts_targets(kind, batch, rng):
    model = make(rng, **KINDS[kind])
    batch["target"][:, 0] = 0
    batch["target"][2, 4:] = 0
    logits = model(batch)
    real = batch["target"] != 0
    real[:, 0] = True
    np.testing.assert_array_equal(logits._keras_mask, real)
    steps, _ = step_through(model, model.encode(batch, TARGET), batch["target"])
    np.testing.assert_allclose(logits[real], steps[real], atol=1e-5)
    forced = model.teacher_forced(batch["source"], batch["target"])
    np.testing.assert_allclose(forced, steps, atol=1e-5)
    other = make(rng, **{**KINDS[kind], "pad_starts": False})
    other.set_weights(model.get_weights())
    assert np.all(np.any(abs(other(batch) - logits)[:, 1] > 1e-3, axis=-1))


def test_each_stack_has_one_bias_and_cross_attention_none(rng):
    model = make(rng, **KINDS["t5"], num_decoder_layers=3)
    tables = [w for w in model.trainable_weights if w.path.endswith("table")]
    assert [tuple(table.shape) for table in tables] == [(6, 4), (6, 4)]
    for stack, bidirectional in ((model.encoder, True), (model.decoder, False)):
        (bias,) = stack.shared_modifiers
        assert bias.bidirectional == bidirectional
        for block in stack.blocks:
            assert block.self_attention.modifiers == [bias]
    assert not any(x.cross_attention.modifiers for x in model.decoder.blocks)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_logits_are_scaled_scores_with_a_bias(tied, scaled, batch, rng):
    model = make(
        rng, tie_embeddings=tied, scale_logits=scaled, logits_bias=True
    )
    memory, mask = model.read(batch["source"])
    x = model.decoder(
        model.target_embedding(batch["target"]), memory, memory_mask=mask
    ).numpy()
    embeddings = model.target_embedding.embeddings.numpy().T
    matrix = embeddings if tied else model.project.kernel.numpy()
    assert matrix.shape == (8, 11)
    x = x / np.sqrt(8) if scaled else x
    expected = x @ matrix + model.logits_bias.bias.numpy()
    np.testing.assert_allclose(model(batch), expected, rtol=1e-4, atol=1e-4)


def test_beams_score_what_they_write(batch, rng):
    model = make(rng, **KINDS["t5"])
    tokens, scores = generate(
        model,
        batch["source"],
        search="beam",
        width=3,
        num_results=2,
        max_length=5,
        start_id=0,
        end_id=-1,
    )
    assert np.all(np.any(tokens[:, 0] != tokens[:, 1], axis=-1))
    for place in range(2):
        written = tokens[:, place].numpy()
        fed = np.pad(written, ((0, 0), (1, 0)))[:, :-1]
        logits = model.teacher_forced(batch["source"], fed)
        log_probs = tf.nn.log_softmax(logits).numpy()
        chosen = np.take_along_axis(log_probs, written[..., None], axis=-1)
        np.testing.assert_allclose(
            scores[:, place], chosen.sum(axis=(1, 2)), atol=1e-4
        )


def test_later_tokens_change_nothing_earlier(batch, rng):
    model = make(rng)
    changed = {**batch, "target": batch["target"].copy()}
    changed["target"][:, 3:] = 1 + changed["target"][:, 3:] % 10
    before, after = model(batch), model(changed)
    np.testing.assert_allclose(before[:, :3], after[:, :3], atol=1e-6)
    assert np.all(np.any(before[:, 3:] != after[:, 3:], axis=-1))


def test_one_vocabulary_is_one_matrix_and_two_are_two(batch):
    shared = Transformer(11, **SIZES)
    assert sum(w.path.endswith("embeddings") for w in shared.weights) == 1
    two = Transformer(
        source_vocabulary_size=12, target_vocabulary_size=13, **SIZES
    )
    shapes = {
        tuple(weight.shape)
        for weight in two.weights
        if weight.path.endswith("embeddings")
    }
    assert shapes == {(12, 8), (13, 8)}
    assert two(batch).shape == (3, TARGET, 13)
    state = two.encode(batch, TARGET)
    logits, _ = step_through(two, state, batch["target"])
    np.testing.assert_allclose(logits, two(batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"source_vocabulary_size": 5},
        {"target_vocabulary_size": 5},
        {"vocabulary_size": 5, "target_vocabulary_size": 5},
        {
            "vocabulary_size": 5,
            "source_vocabulary_size": 5,
            "target_vocabulary_size": 5,
        },
    ],
    ids=["none", "source", "target", "one_too_many", "all"],
)
def test_vocabularies_that_do_not_go_together_are_refused(sizes):
    with pytest.raises(ValueError, match="Give `vocabulary_size` for one"):
        Transformer(**sizes, **SIZES)


def test_too_many_tokens_for_the_positions_learned_are_refused(batch, rng):
    model = make(rng, position="learned", max_length=9)
    model.encode(batch, 9)
    with pytest.raises(ValueError, match=r"learned 9 positions.*Received: 10"):
        model.encode(batch, 10)


def test_learns_from_a_batch(batch):
    model = Transformer(11, **{**SIZES, "num_layers": 1})
    model.compile(
        keras.optimizers.Adam(0.01), MaskedCrossentropy(), jit_compile=False
    )
    history = model.fit(batch, batch["target"], epochs=8, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] - 0.2


def test_half_precision_is_close(batch, rng):
    model = make(rng)
    half = make(rng, dtype="mixed_float16")
    half.set_weights(model.get_weights())
    assert half(batch).dtype == "float16"
    np.testing.assert_allclose(
        tf.cast(half(batch), "float32"), model(batch), atol=0.1
    )
    weights = half.alignment(batch, batch["target"])
    assert weights.dtype == "float32"
    wanted = model.alignment(batch, batch["target"])
    np.testing.assert_allclose(weights, wanted, atol=0.1)
    state = half.encode(batch, TARGET)
    logits, _ = step_through(half, state, batch["target"])
    np.testing.assert_allclose(logits.astype("float32"), model(batch), atol=0.1)


@pytest.mark.parametrize("kind", ["pre_learned_deeper", "grouped_rotary", "t5"])
def test_is_saved_with_its_modifiers(kind, batch, rng, tmp_path):
    model = make(rng, **KINDS[kind])
    model.save(tmp_path / "transformer.keras")
    loaded = keras.saving.load_model(tmp_path / "transformer.keras")
    np.testing.assert_array_equal(loaded(batch), model(batch))
    assert loaded.get_config() == model.get_config()
