import numpy as np
import tensorflow as tf

from keras_attn.export.graph import padded_batches
from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.loader.loaded_model import LoadedModel


def test_powers_of_two_are_the_least_that_are_enough():
    numbers = [0, 1, 2, 3, 4, 5, 8, 9, 1000, 2**30]
    powers = [padded_batches.next_power(n).numpy() for n in numbers]
    assert powers == [1, 1, 2, 4, 4, 8, 8, 16, 1024, 2**30]


def test_rows_come_back_as_if_there_were_no_others():
    sizes = []

    def sums(left, right):
        sizes.append(left.shape[0])
        return {"sum": left + right[:, None], "right": right}

    run = padded_batches.compiled(sums)
    graph = tf.function(
        run,
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32),
            tf.TensorSpec([None], tf.float32),
        ],
    )
    for rows in (0, 1, 3, 8):
        left = np.arange(2 * rows, dtype="float32").reshape([rows, 2])
        right = np.arange(rows, dtype="float32")
        answer = graph(left, right)
        np.testing.assert_array_equal(answer["sum"], left + right[:, None])
        np.testing.assert_array_equal(answer["right"], right)
    assert sizes == [None], "traced once for all"
    function = graph.get_concrete_function()
    parts = function.graph.as_graph_def().library.function
    assert [True] == [
        part.attr["_XlaMustCompile"].b
        for part in parts
        if "_XlaMustCompile" in part.attr
    ]


def test_a_shared_loop_compiles_in_the_session(tmp_path):
    # A session rewrites the loop of a function that is called, into ops such
    # as Enter, which XLA refuses: what is compiled must hold the loop itself.
    def power_of_length(x):
        return tf.while_loop(
            lambda index, y: index < tf.shape(x)[1],
            lambda index, y: (index + 1, 2.0 * y),
            (0, x),
        )[1]

    shared = shared_function(power_of_length)
    runs = {"plain": shared, "xla": padded_batches.compiled(shared)}
    spec = tf.TensorSpec([None, 3], tf.float32, "x")
    signatures = {
        name: tf.function(
            lambda x, run=run: {"y": run(x)}, autograph=False
        ).get_concrete_function(x=spec)
        for name, run in runs.items()
    }
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures)
    loaded = LoadedModel(tmp_path)
    for name in signatures:
        answer = loaded.run(name, {"x": np.ones((5, 3), np.float32)})
        np.testing.assert_array_equal(answer["y"], np.full((5, 3), 8.0))
