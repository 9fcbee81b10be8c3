import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.batching import batches
from keras_attn.data.tasks.sequence_regression import sequence_regression


def examples(*lengths, target):
    numbers = tf.data.Dataset.from_tensor_slices(list(lengths))
    return numbers.map(
        lambda n: {"sequence": tf.ones([n, 3], tf.float64), "target": target(n)}
    )


@pytest.mark.parametrize(
    ("target", "shape"),
    [(lambda n: n, ()), (lambda n: tf.stack([n, n + 1]), (2,))],
    ids=["scalar", "vector"],
)
def test_one_target_for_the_whole_sequence(target, shape):
    data = sequence_regression(examples(4, 2, target=target))
    assert data.element_spec == (
        tf.TensorSpec((None, 3), tf.float32),
        tf.TensorSpec(shape, tf.float32),
    )
    dataset = batches(data, 2, lengths=5)
    assert dataset.element_spec[0].shape == (2, 5, 3)
    ((sequence, targets),) = dataset.as_numpy_iterator()
    assert sequence[1].tolist() == [[1.0] * 3] * 2 + [[0.0] * 3] * 3
    expected = np.array([4, 2])
    if shape:
        expected = np.stack([expected, expected + 1], axis=1)
    np.testing.assert_array_equal(targets, expected)


def test_different_lengths_are_bucketed():
    data = sequence_regression(examples(1, 4, 2, 3, target=lambda n: n))
    shapes = {tuple(s.shape) for s, _ in batches(data, 2, lengths=[2, 4])}
    assert shapes == {(2, 2, 3), (2, 4, 3)}


def test_targets_of_padded_steps_do_not_count():
    steps = examples(2, 4, target=lambda n: tf.ones([n, 2]))
    data = sequence_regression(steps)
    dataset = batches(data, 2, lengths=5)
    assert [spec.shape for spec in dataset.element_spec] == [
        (2, 5, 3),
        (2, 5, 2),
        (2, 5),
    ]
    ((_, targets, weights),) = dataset.as_numpy_iterator()
    assert weights.tolist() == [[1, 1, 0, 0, 0], [1, 1, 1, 1, 0]]
    wrong_where_padded = np.where(targets == 0, 9.0, targets)
    loss = keras.losses.MeanSquaredError()
    assert loss(targets, wrong_where_padded) > 0
    assert loss(targets, wrong_where_padded, sample_weight=weights) == 0


def test_steps_of_a_fixed_number_need_no_weights():
    data = tf.data.Dataset.from_tensors(
        {"sequence": np.ones((4, 3)), "target": np.ones((4, 2))}
    )
    sequence, target = sequence_regression(data).element_spec
    assert sequence.shape == (4, 3) and target.shape == (4, 2)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"sequence": np.ones((2, 3))}, "`sequence` and `target`"),
        ({"sequence": np.ones(2), "target": 1.0}, r"\(time, features\)"),
        (
            {"sequence": np.ones((2, 3)), "target": np.ones((2, 3, 4))},
            r"scalar, \(k,\) or \(time, k\)",
        ),
    ],
    ids=["no target", "no features", "too many axes"],
)
def test_other_fields_are_refused(fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        sequence_regression(tf.data.Dataset.from_tensors(fields))


def test_a_target_of_unknown_size_is_refused():
    data = examples(2, target=lambda n: tf.ones([n]))
    with pytest.raises(ValueError, match="known k"):
        sequence_regression(data)
