import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import generate
from keras_attn.layers import MaskedConvolution
from keras_attn.layers import MultiHeadAttention
from keras_attn.layers import SinePosition
from keras_attn.models import RNNSeq2Seq
from keras_attn.training import MaskedCrossentropy
from tests.blocks import recurrences
from tests.contract import check_model
from tests.models.rnn_seq2seq.test_encoder import read
from tests.models.stepping import ops_of
from tests.models.stepping import set_random
from tests.models.stepping import step_through

KINDS = {
    "sutskever": {
        "cell": "lstm",
        "num_layers": 2,
        "attention": None,
        "reverse_source": True,
    },
    "constant": {"attention": None, "constant_context": True},
    "bahdanau": {
        "bidirectional": True,
        "initial_state": "backward",
        "attention_units": 5,
        "readout": "maxout",
        "readout_units": 3,
    },
    "luong": {
        "cell": "lstm",
        "num_layers": 2,
        "attention": "multiplicative",
        "context": "attentional",
        "reverse_source": True,
    },
    "dot_readout": {"attention": "dot", "context": "readout"},
    "location": {"attention": "location", "context": "attentional"},
    "local_layer": {
        "cell": "simple",
        "num_layers": 2,
        "attention": "local",
        "context": "layer",
        "bidirectional": True,
        "constant_context": True,
    },
}
SOURCE, TARGET = 5, 4


def make(rng, **options):
    model = RNNSeq2Seq(9, 10, units=6, **{"embedding_dim": 7, **options})
    set_random(model, rng)
    return model


@pytest.fixture
def batch(rng):
    source = rng.integers(1, 9, size=(2, SOURCE))
    source[1, 3:] = 0
    return {"source": source, "target": rng.integers(1, 10, size=(2, TARGET))}


@pytest.mark.slow
def test_contract(batch, tmp_path):
    check_model(
        RNNSeq2Seq,
        {
            **KINDS["bahdanau"],
            "source_vocabulary_size": 9,
            "target_vocabulary_size": 10,
            "units": 6,
            "dropout": 0.1,
            "state_dropout": 0.1,
        },
        batch,
        tmp_path=tmp_path,
        padded=("source", "target"),
    )


def dense(layer, x):
    kernel, *bias = recurrences.arrays(layer)
    return x @ kernel + sum(bias)


def expected(kind, model, source, target):
    """Logits as the papers make them, for sources without padding."""
    options = KINDS[kind]
    (source_table,) = recurrences.arrays(model.source_embedding)
    (target_table,) = recurrences.arrays(model.target_embedding)
    memory, inputs = source_table[source], target_table[target]
    final, decoder = [], model.decoder
    directions = iter(model.reader.directions)
    for _ in range(options.get("num_layers", 1)):
        backwards = options.get("reverse_source", False)
        forward, own = read(next(directions).cell, memory, backwards)
        if options.get("bidirectional"):
            backward, other = read(next(directions).cell, memory, True)
            forward = np.concatenate([forward, backward], axis=-1)
            own = list(zip(own, other, strict=True))
        memory = forward
        final.append(own)
    if kind in ("sutskever", "constant"):
        states = final
        if kind == "constant":
            context = np.repeat(final[-1][0][:, None], TARGET, axis=1)
            inputs = np.concatenate([inputs, context], axis=-1)
        outputs = []
        for t in range(TARGET):
            output, states = recurrences.step_cell(
                decoder.rnn.cell, inputs[:, t], states
            )
            outputs.append(output)
        return dense(model.project, np.stack(outputs, axis=1))
    bridges = decoder.start_states.dense_layers
    if kind == "bahdanau":
        ((_, backward),) = final[0]
        final = [[np.tanh(dense(bridges[0], backward))]]
    if kind == "local_layer":
        final = [
            [np.tanh(dense(bridge, np.concatenate(own[0], axis=-1)))]
            for bridge, own in zip(bridges, final, strict=True)
        ]
        last = np.concatenate([memory[:, -1, :6], memory[:, 0, 6:]], axis=-1)
        context = np.repeat(last[:, None], TARGET, axis=1)
        inputs = np.concatenate([inputs, context], axis=-1)
    cell = decoder.rnn.cell
    outputs, weights, _ = recurrences.decode(cell, inputs, memory, states=final)
    if kind == "bahdanau":
        before = np.concatenate([final[0][0][:, None], outputs[:, :-1]], 1)
        context = np.einsum("btk,bkf->btf", weights, memory)
        both = np.concatenate([before, inputs, context], axis=-1)
        outputs = dense(decoder.maxout_dense, both)
        outputs = np.maximum(outputs[..., 0::2], outputs[..., 1::2])
    return dense(model.project, outputs)


@pytest.mark.parametrize("kind", KINDS)
def test_matches_the_equations_and_steps_and_padding(kind, batch, rng):
    model = make(rng, **KINDS[kind], dtype="float64")
    full = model(batch)
    assert full.shape == (2, TARGET, 10)
    for row, length in ((slice(0, 1), SOURCE), (slice(1, 2), 3)):
        # Rows apart, so that the shorter one has no padding.
        source, target = batch["source"][row, :length], batch["target"][row]
        both = (np.repeat(x, 2, axis=0) for x in (source, target))
        wanted = expected(kind, model, *both)[:1]
        np.testing.assert_allclose(full[row], wanted, rtol=1e-5, atol=1e-6)
    # The dictionary's target has no say.
    state = model.encode(batch, TARGET)
    logits, state = step_through(model, state, batch["target"])
    np.testing.assert_allclose(logits, full, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(state.carried["position"], [TARGET] * 2)
    assert {leaf.shape[0] for leaf in keras.tree.flatten(state)} == {2}
    np.testing.assert_allclose(
        model.teacher_forced(batch["source"], batch["target"]), full, rtol=1e-6
    )


@pytest.mark.parametrize("kind", ["bahdanau", "luong", "location"])
def test_the_alignment_says_where_each_token_looked(kind, batch, rng):
    model = make(rng, **KINDS[kind])
    found = model.alignment(batch, batch["target"])
    assert found.shape == (2, TARGET, SOURCE)
    np.testing.assert_allclose(np.sum(found, axis=-1), 1, atol=1e-5)
    assert not np.any(found[1, :, 3:])
    state = model.encode(batch, TARGET)
    states = state.carried["states"]
    for t in range(TARGET):
        embedded = model.target_embedding(batch["target"])[:, t]
        outputs, states = model.decoder.rnn.cell.step(
            embedded, states, state.constant["memory"]
        )
        np.testing.assert_allclose(found[:, t], outputs["weights"], atol=1e-5)


def test_without_attention_there_is_no_alignment(rng):
    assert make(rng, attention=None).alignment is None


def test_takes_any_attention_layer_and_is_saved_with_it(batch, rng, tmp_path):
    model = make(rng, attention=MultiHeadAttention(2, 3), context="readout")
    assert model.alignment(batch, batch["target"]).shape == (2, TARGET, SOURCE)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(batch), model(batch), atol=1e-6)


def windows(*, states=1, units=6):
    """An encoder that reads three words at a time, and all for a state."""
    x = keras.Input((None, 7))
    memory = MaskedConvolution(5, 3)(x)
    memory = SinePosition(4, merge="concat")(memory)
    last = [keras.layers.GRU(units)(x) for _ in range(states)]
    return keras.Model(x, [memory, *last])


def test_takes_any_encoder_and_is_saved_with_it(batch, rng, tmp_path):
    model = make(rng, encoder=windows())
    padded = {**batch, "source": np.pad(batch["source"], [(0, 0), (0, 3)])}
    np.testing.assert_allclose(model(padded), model(batch), atol=1e-6)
    state = model.encode(batch, TARGET)
    stepped, _ = step_through(model, state, batch["target"])
    np.testing.assert_allclose(stepped, model(batch), rtol=1e-5, atol=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(batch), model(batch), atol=1e-6)


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_a_sources_end_may_be_the_targets_start(search, rng):
    model = make(rng)
    end_id = 3
    # Nothing but END and 4 is ever likely, and 4 is likelier.
    model.project.set_weights(
        [np.zeros((6, 10)), np.log([1e-9] * 3 + [0.3, 0.7] + [1e-9] * 5)]
    )
    source = np.array([[5, 6, end_id], [7, end_id, 0]])
    tokens = generate(
        model,
        source,
        search=search,
        max_length=3,
        start_id=end_id,
        end_id=end_id,
    )
    tokens = tokens if search == "greedy" else tokens[0][:, 0]
    assert tokens.shape == (2, 3)
    np.testing.assert_array_equal(tokens[:, 0], [4, 4])


@pytest.mark.parametrize("kind", ["bahdanau", "location"])
def test_sources_of_padding_or_of_nothing_give_a_defined_answer(kind, rng):
    model = make(rng, **KINDS[kind])
    batch = {"source": np.zeros((2, 3), "int32"), "target": np.ones((2, 4))}
    only_padding = model(batch)
    assert np.isfinite(only_padding).all()
    empty = model({**batch, "source": np.zeros((2, 0), "int32")})
    np.testing.assert_allclose(empty, only_padding, atol=1e-6)
    assert not np.any(model.alignment(batch, np.ones((2, 4), "int32")))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["luong", "location"])
def test_any_batch_and_length_in_one_graph_that_servers_accept(
    kind, batch, rng
):
    model = make(rng, **KINDS[kind])

    def two_steps(source):
        state = model.encode(source, 2)
        first, state = model.step(source[:, 0], state, 0)
        second, state = model.step(source[:, 1], state, 1)
        return first, second, model.alignment(source, source[:, :2])

    spec = tf.TensorSpec((None, None), tf.int32)
    graph = tf.function(two_steps, autograph=False).get_concrete_function(spec)
    assert not [op for op in ops_of(graph) if op.startswith("Xla")]
    for shape in ((2, 5), (1, 3)):
        source = tf.constant(batch["source"][: shape[0], : shape[1]], tf.int32)
        for one, two in zip(graph(source), two_steps(source), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_learns_from_a_batch(batch):
    model = RNNSeq2Seq(9, 10, units=6, dropout=0.1)
    model.compile(
        keras.optimizers.Adam(0.02), MaskedCrossentropy(), jit_compile=False
    )
    history = model.fit(batch, batch["target"], epochs=8, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] - 0.2


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"'local'.*attention='bahdanau'"):
        RNNSeq2Seq(9, 10, units=6, attention="bahdanau")
    with pytest.raises(ValueError, match="MultiplicativeAttention"):
        RNNSeq2Seq(9, 10, units=6, attention="dot", bidirectional=True)
    with pytest.raises(ValueError, match="StackedRNNCells"):
        RNNSeq2Seq(9, 10, units=6, context="layer")
    with pytest.raises(ValueError, match=r"can look again.*state_dropout=0\.1"):
        RNNSeq2Seq(9, 10, units=6, attention=None, state_dropout=0.1)
    with pytest.raises(ValueError, match=r"'lstm'.*cell='transformer'"):
        RNNSeq2Seq(9, 10, units=6, cell="transformer")
    for wrong in (windows(states=2), windows(units=5)):
        with pytest.raises(ValueError, match=r"1 of the decoder's states"):
            RNNSeq2Seq(9, 10, units=6, embedding_dim=7, encoder=wrong)
