import numpy as np
import tensorflow as tf

from keras_attn.ops.split import split_matmul


def test_products_stand_one_after_the_other():
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(2, 4, 5)), rng.normal(size=(5, 6))
    bias = rng.normal(size=6)
    for given, added in ((None, 0.0), (tf.constant(bias), bias)):
        outputs = split_matmul(
            tf.constant(x), tf.constant(kernel), given, [1, 3, 2]
        )
        expected = np.split(x @ kernel + added, [1, 4], axis=-1)
        for output, wanted in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(output, wanted)


def test_it_parts_them_in_one_op():
    kernel = tf.ones([5, 6])
    part = tf.function(lambda x: split_matmul(x, kernel, None, [1, 3, 2]))
    graph = part.get_concrete_function(tf.TensorSpec([None, 5])).graph
    kinds = [op.type for op in graph.get_operations()]
    kinds = [x for x in kinds if x not in ("Const", "Placeholder", "Identity")]
    assert kinds == ["MatMul", "SplitV"]
