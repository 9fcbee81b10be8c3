import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.embeddings.learned_position import LearnedPosition
from tests.contract import check_layer
from tests.contract import check_mask_goes_on


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


@pytest.mark.parametrize(
    ("init", "features"),
    [
        ({"max_length": 8}, 6),
        ({"max_length": 5, "units": 3, "merge": "concat"}, 9),
        ({"max_length": 7, "embeddings_initializer": "zeros"}, 6),
    ],
    ids=["add", "concat", "zeros"],
)
def test_contract(init, features, inputs, tmp_path):
    check_layer(
        LearnedPosition,
        init,
        {"inputs": inputs},
        output_shape=(2, 5, features),
        tmp_path=tmp_path,
        padded=(),  # it looks at no other position
    )
    check_mask_goes_on(LearnedPosition(**init), inputs)


def test_matches_the_equation(inputs):
    layer = LearnedPosition(8)
    output = layer(inputs)
    table = layer.embeddings.numpy()
    assert table.shape == (8, 6)
    np.testing.assert_allclose(output, inputs + table[:5], rtol=1e-6)


def test_concat_appends_the_row(inputs):
    layer = LearnedPosition(8, 3, merge="concat")
    output = layer(inputs)
    np.testing.assert_array_equal(output[..., :6], inputs)
    for row in output:
        np.testing.assert_array_equal(row[:, 6:], layer.embeddings[:5])


def test_each_row_may_stand_elsewhere(inputs):
    layer = LearnedPosition(8)
    positions = np.array([[3, 4, 5, 6, 7], [0, 0, 2, 1, 7]])
    expected = inputs + layer(np.zeros((1, 8, 6))).numpy()[0][positions]
    np.testing.assert_allclose(layer(inputs, positions), expected, rtol=1e-6)
    shared = layer(inputs, positions[:1])
    np.testing.assert_allclose(shared[0], expected[0], rtol=1e-6)


def test_a_sequence_longer_than_the_table_is_refused(inputs):
    with pytest.raises(ValueError, match=r"4 positions.*greater.*Received: 5"):
        LearnedPosition(4)(inputs)
    with pytest.raises(ValueError, match="learned 4 positions"):
        LearnedPosition(4)(keras.Input((5, 6)))


def test_a_length_unknown_until_the_graph_runs_is_checked_then(inputs):
    layer = LearnedPosition(4)
    symbolic = keras.Input((None, 6))
    model = keras.Model(symbolic, layer(symbolic))
    run = tf.function(model, input_signature=[tf.TensorSpec([None, None, 6])])
    np.testing.assert_array_equal(run(inputs[:, :4]), model(inputs[:, :4]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="learned 4"):
        run(inputs)


def test_xla_gives_nan_past_the_table(inputs):
    layer = LearnedPosition(4)
    expected = layer(inputs[:, :4])
    run = tf.function(
        layer,
        input_signature=[tf.TensorSpec([None, None, 6])],
        jit_compile=True,
    )
    found = run(inputs)
    np.testing.assert_allclose(found[:, :4], expected, rtol=1e-6)
    assert np.isnan(found[:, 4:]).all()


def test_xla_gives_nan_for_positions_past_the_table(inputs):
    layer = LearnedPosition(4)
    positions = np.array([[3, 0, 1, 2, 3], [0, 1, 2, 3, 4]])
    real = positions < 4
    expected = layer(inputs, positions * real)
    found = tf.function(layer, jit_compile=True)(inputs, positions)
    np.testing.assert_allclose(found[real], expected[real], rtol=1e-6)
    assert np.isnan(found[~real]).all()


@pytest.mark.parametrize(
    ("position", "message"), [(8, "learned 8 positions"), (-1, "-1 is not in")]
)
def test_a_position_outside_the_table_is_refused(position, message, inputs):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        LearnedPosition(8)(inputs, np.array([[0, 1, 2, 3, position]]))


def test_load_grid_takes_a_table_of_the_same_grid_as_it_is(rng):
    layer = LearnedPosition(7)
    layer.build((None, None, 3))
    table = rng.normal(size=(7, 3)).astype("float32")
    layer.load_grid(table, (2, 3), (2, 3), num_prefix_tokens=1)
    np.testing.assert_allclose(layer.embeddings, table, rtol=1e-6)


def test_load_grid_stretches_the_grid_and_not_what_stands_before_it(rng):
    layer = LearnedPosition(2 + 4 * 6)
    layer.build((None, None, 3))
    table = np.full((2 + 2 * 3, 3), 5.0, "float32")
    table[:2] = rng.normal(size=(2, 3))
    layer.load_grid(table, (2, 3), (4, 6), num_prefix_tokens=2)
    np.testing.assert_array_equal(layer.embeddings[:2], table[:2])
    np.testing.assert_allclose(layer.embeddings[2:], 5.0, rtol=1e-6)


def test_load_grid_says_what_does_not_fit(rng):
    layer = LearnedPosition(7)
    table = rng.normal(size=(7, 3))
    with pytest.raises(ValueError, match="build the layer"):
        layer.load_grid(table, (2, 3), (2, 3), num_prefix_tokens=1)
    layer.build((None, None, 3))
    with pytest.raises(ValueError, match=r"\(7, 3\).*\(10, 3\).*new_grid"):
        layer.load_grid(table, (2, 3), (3, 3), num_prefix_tokens=1)
    with pytest.raises(ValueError, match=r"7 rows.*old_grid"):
        layer.load_grid(table, (3, 3), (2, 3), num_prefix_tokens=1)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"max_length": 0}, "`max_length` must be an integer of at least 1"),
        ({"merge": "sum"}, "`merge` must be"),
        ({"units": 0, "merge": "concat"}, "`units` must be"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        LearnedPosition(**{"max_length": 4, **init})
