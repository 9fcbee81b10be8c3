import numpy as np
import tensorflow as tf

from keras_attn.ops.split import split_features


def test_pieces_stand_one_after_the_other():
    x = np.arange(24.0).reshape(2, 2, 6)
    pieces = split_features(tf.constant(x), [1, 3, 2])
    expected = np.split(x, [1, 4], axis=-1)
    for piece, wanted in zip(pieces, expected, strict=True):
        np.testing.assert_array_equal(piece, wanted)


def test_it_is_one_op():
    part = tf.function(lambda x: split_features(x, [1, 3, 2]))
    graph = part.get_concrete_function(tf.TensorSpec([None, 6])).graph
    kinds = {op.type for op in graph.get_operations()}
    assert kinds - {"Const", "Placeholder", "Identity"} == {"SplitV"}
