import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.modifiers import ALiBi
from keras_attn.modifiers import Rotary
from tests import oracle
from tests.contract import check_layer

IMPLEMENTATIONS = ["dense", "tiled"]


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 7)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
    }


@pytest.fixture
def sequence(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


@pytest.mark.parametrize(
    "init",
    [
        {"num_heads": 2, "key_dim": 4, "implementation": "tiled"},
        {
            "num_heads": 4,
            "key_dim": 2,
            "value_dim": 3,
            "num_kv_heads": 2,
            "dropout": 0.3,
            "seed": 1,
            "sliding_window": 4,
            "use_gate": True,
            "modifiers": ["Rotary", "ALiBi"],
        },
    ],
    ids=["tiled", "grouped_gated_windowed_modified"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        MultiHeadAttention,
        init,
        inputs,
        output_shape=(2, 3, 7),
        tmp_path=tmp_path,
        # What all keys share cancels in the softmax.
        powerless=["key/bias"],
    )


def test_contract_over_one_axis_of_an_image(rng, tmp_path):
    check_layer(
        MultiHeadAttention,
        {"num_heads": 2, "key_dim": 4, "attention_axes": (2,)},
        {
            "query": rng.normal(size=(2, 3, 4, 7)).astype("float32"),
            "value": rng.normal(size=(2, 3, 5, 6)).astype("float32"),
        },
        output_shape=(2, 3, 4, 7),
        tmp_path=tmp_path,
        padded=(),
        powerless=["key/bias"],
    )


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_matches_the_equation(implementation, inputs, rng):
    layer = MultiHeadAttention(
        4,
        8,
        value_dim=3,
        num_kv_heads=2,
        modifiers=[Rotary(fraction=0.5)],
        use_gate=True,
        implementation=implementation,
    )
    layer.build((2, 3, 7), (2, 5, 6))
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    key_mask = np.arange(5)[None] < np.array([[4], [3]])
    output = layer(**inputs, value_mask=key_mask, use_causal_mask=True)

    def project(dense, x):
        kernel, bias = (w.numpy().astype("float64") for w in dense.weights)
        return np.tensordot(x, kernel, kernel.ndim - bias.ndim) + bias

    query, value = inputs["query"], inputs["value"]
    heads, _ = oracle.attention(
        project(layer.query_dense, query),
        project(layer.key_dense, value),
        project(layer.value_dense, value),
        mask=key_mask[:, None, None],
        causal=True,
        modifiers=[("rotary", {"fraction": 0.5})],
        query_positions=np.arange(3)[None],
    )
    (gate,) = (x for x in layer.projections() if x.name == "gate")
    heads = heads / (1 + np.exp(-project(gate, query)))
    expected = project(layer.output_dense, heads)
    np.testing.assert_allclose(output, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("num_kv_heads", [1, 2])
def test_grouped_heads_are_heads_repeated(num_kv_heads, sequence):
    grouped = MultiHeadAttention(4, 3, num_kv_heads=num_kv_heads)
    expected = grouped(sequence, sequence)
    assert grouped.key_dense.kernel.shape == (6, num_kv_heads, 3)
    repeats = 4 // num_kv_heads
    plain = MultiHeadAttention(4, 3)
    plain.build(sequence.shape, sequence.shape)
    for ours, theirs in zip(plain.weights, grouped.weights, strict=True):
        value = theirs.numpy()
        if ours.shape != theirs.shape:
            value = value.repeat(repeats, axis=-2)
        ours.assign(value)
    np.testing.assert_allclose(plain(sequence, sequence), expected, atol=1e-6)


def test_every_way_of_asking_gives_the_same_output(sequence):
    ways = [
        {"implementation": "dense"},
        {"implementation": "tiled"},
        {"flash_attention": True},
        {"flash_attention": True, "dropout": 0.5},
        {"dropout": 0.5},
    ]
    mask = np.array([[True] * 3 + [False] * 2, [False] * 5])
    outputs = []
    weights = MultiHeadAttention(2, 3)
    weights.build(sequence.shape, sequence.shape)
    for way in ways:
        layer = MultiHeadAttention(2, 3, **way)
        layer.build(sequence.shape, sequence.shape)
        layer.set_weights(weights.get_weights())
        call = {"query": sequence, "value": sequence, "value_mask": mask}
        outputs.append(layer(**call))
        looked, _ = layer(**call, return_attention_scores=True)
        outputs.append(looked)
    for output in outputs[1:]:
        np.testing.assert_allclose(output, outputs[0], atol=1e-6)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_one_product_projects_like_three(implementation, sequence):
    layer = MultiHeadAttention(2, 3, implementation=implementation)
    layer.build(sequence.shape, sequence.shape)
    found = []
    for same in (True, False):
        query = tf.constant(sequence)
        value = query if same else tf.constant(sequence)
        with tf.GradientTape() as tape:
            tape.watch([query, value])
            output = layer(query, value)
            loss = tf.reduce_sum(output**2)
        sources = [query, value, *(w.value for w in layer.weights)]
        of_query, of_value, *of_weights = tape.gradient(loss, sources)
        of_input = of_query if same else of_query + of_value
        found.append([output, of_input, *of_weights])
    for one, three in zip(*found, strict=True):
        np.testing.assert_allclose(one, three, atol=1e-5)


def test_without_positions_order_does_not_matter(sequence):
    layer = MultiHeadAttention(2, 3)
    order = [3, 0, 4, 2, 1]
    np.testing.assert_allclose(
        layer(sequence[:, order], sequence[:, order]),
        tf.gather(layer(sequence, sequence), order, axis=1),
        atol=1e-6,
    )


def test_with_positions_order_matters(sequence):
    layer = MultiHeadAttention(2, 4, modifiers=[Rotary()])
    before = layer(sequence, sequence)
    after = layer(sequence[:, ::-1], sequence[:, ::-1])[:, ::-1]
    assert np.abs(before - after).max() > 1e-2


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("window", [None, 2])
def test_no_query_sees_the_future(implementation, window, sequence):
    layer = MultiHeadAttention(
        2, 3, sliding_window=window, implementation=implementation
    )
    x = tf.constant(sequence[:1])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        outputs = tf.unstack(layer(x, x, use_causal_mask=True), axis=1)
    gradients = [tape.gradient(output, x)[0] for output in outputs]
    seen = np.abs(gradients).sum(-1)  # (query, key)
    visible = np.tri(5, dtype="bool")
    if window:
        visible &= ~np.tri(5, k=-window, dtype="bool")
    np.testing.assert_array_equal(seen > 0, visible)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_query_that_may_see_nothing_gets_the_bias(implementation, inputs):
    layer = MultiHeadAttention(
        2, 3, bias_initializer="ones", implementation=implementation
    )
    mask = np.ones((2, 3, 5), "bool")
    mask[1, 2] = False
    output = layer(**inputs, attention_mask=mask)
    np.testing.assert_array_equal(output[1, 2], np.ones(7))
    assert not np.any(output[1, 1] == 1)


def test_the_weights_are_those_that_made_the_output(inputs):
    layer = MultiHeadAttention(2, 3, dropout=0.5, seed=3)
    output, weights = layer(
        **inputs, training=True, return_attention_scores=True
    )
    assert np.any(weights == 0)
    assert np.any(weights != 0)
    value = layer.value_dense(inputs["value"])
    heads = np.einsum("bhqk,bkhd->bqhd", weights, value)
    np.testing.assert_allclose(layer.output_dense(heads), output, atol=1e-6)


def test_dropout_is_only_for_training_and_never_twice_the_same(inputs):
    layer = MultiHeadAttention(2, 3, dropout=0.5, seed=3)
    np.testing.assert_array_equal(layer(**inputs), layer(**inputs))
    once, again = (layer(**inputs, training=True) for _ in range(2))
    assert np.abs(once - again).max() > 1e-3


def test_modifiers_are_saved_and_owned(inputs):
    layer = MultiHeadAttention(
        2, 4, modifiers=[Rotary(base=50.0), "RelativeBias", ALiBi()]
    )
    layer(**inputs)
    assert len(layer.weights) == 9  # 4 × (kernel, bias), T5's table
    config = layer.get_config()
    twin = MultiHeadAttention.from_config(config)
    assert [type(x).__name__ for x in twin.modifiers] == [
        "Rotary",
        "RelativeBias",
        "ALiBi",
    ]
    assert twin.modifiers[0].base == 50.0


def test_the_config_is_what_was_given(inputs):
    layer = MultiHeadAttention(2, 4, attention_axes=-2, flash_attention=True)
    layer(**inputs)
    config = layer.get_config()
    assert config["attention_axes"] == (-2,)
    assert config["value_dim"] is None
    assert config["flash_attention"] is True


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"num_heads": 0}, "`num_heads` must be"),
        ({"key_dim": 2.0}, "`key_dim` must be"),
        ({"value_dim": 0}, "`value_dim` must be"),
        ({"num_kv_heads": 3}, "`num_kv_heads` must divide"),
        ({"num_kv_heads": 0}, "`num_kv_heads` must be"),
        ({"dropout": 1.0}, "`dropout` must be"),
        ({"sliding_window": 0}, "`sliding_window` must be"),
        ({"implementation": "flash"}, "`implementation` must be"),
        ({"attention_axes": "time"}, "`attention_axes` must be"),
        ({"output_shape": 2.5}, "`output_shape` must be"),
        ({"modifiers": ["spin"]}, "spin"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**{"num_heads": 4, "key_dim": 2, **init})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"query": np.ones((2, 7))}, "rank 3"),
        ({"value": np.ones((3, 5, 6))}, "same lengths"),
        ({"key": np.ones((2, 4, 6))}, "same lengths"),
        ({"value": np.ones((2, 5, 5, 6))}, "same rank"),
        ({"attention_mask": np.full((2, 3, 5), -1e9)}, "_mask` must be"),
        ({"query_mask": np.full((2, 3), 0.5)}, "`query_mask` must be"),
        ({"attention_mask": np.ones((2, 5, 3), "bool")}, "must broadcast"),
        ({"attention_mask": np.ones((2, 3, 3, 5), "bool")}, "must broadcast"),
        ({"attention_mask": np.ones(5, "bool")}, "must have the axes"),
        ({"value_mask": np.ones((2, 3), "bool")}, "`value_mask` must have"),
        ({"query_mask": np.ones((2, 5), "bool")}, "`query_mask` must have"),
    ],
)
def test_refuses_to_be_called(call, message, inputs):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(2, 4)(**{**inputs, **call})


def test_order_needs_one_axis(rng):
    image = keras.ops.ones((2, 3, 4, 6))
    with pytest.raises(ValueError, match="`use_causal_mask` needs one axis"):
        MultiHeadAttention(2, 4)(image, image, use_causal_mask=True)
    with pytest.raises(ValueError, match="`sliding_window` needs one axis"):
        MultiHeadAttention(2, 4, sliding_window=2)(image, image)
    image = keras.Input((3, 4, 6))
    with pytest.raises(ValueError, match="`use_causal_mask` needs one axis"):
        MultiHeadAttention(2, 4)(image, image, use_causal_mask=True)


def test_a_float_mask_of_a_model_is_refused_when_the_model_is_made():
    x, mask = keras.Input((5, 6)), keras.Input((5, 5))
    with pytest.raises(ValueError, match=r"`attention_mask`.*not known yet"):
        MultiHeadAttention(2, 4)(x, x, attention_mask=mask)


SEGMENTS = np.array([[1, 1, 2, 2, 2, 0], [3, 3, 3, 3, 5, 5]])


@pytest.mark.parametrize("implementation", ["dense", "tiled"])
def test_segments_are_attended_to_as_if_alone(implementation, rng):
    x = rng.normal(size=(2, 6, 5)).astype("float32")
    # What stands where segments say padding is as good as nothing.
    x[SEGMENTS == 0] = np.nan
    layer = MultiHeadAttention(
        2, 4, modifiers=["rotary"], implementation=implementation
    )
    output = layer(x, x, segments=SEGMENTS, use_causal_mask=True).numpy()
    for row, number in [(0, 1), (0, 2), (1, 3), (1, 5)]:
        own = SEGMENTS[row] == number
        alone = layer(
            x[row, own][None], x[row, own][None], use_causal_mask=True
        )
        np.testing.assert_allclose(output[row][own], alone[0], atol=1e-5)
    np.testing.assert_allclose(output[0, 5], np.zeros(5), atol=1e-7)


def test_query_and_memory_may_have_segments_of_their_own(rng):
    query, memory = rng.normal(size=(2, 1, 4, 5)).astype("float32")
    segments = (np.array([[1, 2, 2]]), np.array([[2, 1, 2, 0]]))
    layer = MultiHeadAttention(2, 3)
    _, weights = layer(
        query[:, :3], memory, segments=segments, return_attention_scores=True
    )
    seen = [[0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0]]
    expected = np.broadcast_to(seen, (1, 2, 3, 4))
    np.testing.assert_array_equal(weights > 0, expected)


def test_segments_reach_a_subclass_in_its_mask(rng):
    class Own(MultiHeadAttention):
        def _compute_attention(self, *args, **kwargs):
            return super()._compute_attention(*args, **kwargs)

    x = rng.normal(size=(2, 6, 5)).astype("float32")
    layer = MultiHeadAttention(2, 3)
    expected = layer(x, x, segments=SEGMENTS)
    own = Own(2, 3)
    own.build(x.shape, x.shape)
    own.set_weights(layer.get_weights())
    found = own(x, x, segments=SEGMENTS)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_segments_are_of_sequences(rng):
    image = rng.normal(size=(1, 2, 3, 5))
    with pytest.raises(ValueError, match="For `segments` inputs must be"):
        MultiHeadAttention(2, 3)(image, image, segments=np.ones((1, 6), int))
