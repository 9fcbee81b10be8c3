import tensorflow as tf

from keras_attn.export.graph.invalid_rows import blank_invalid


def test_rows_that_are_not_valid_are_emptied():
    outputs = {
        "text": tf.constant(["a", "b"]),
        "scores": tf.constant([[0.5, 0.5], [0.25, float("nan")]]),
        "label": tf.constant([2, 3], tf.int64),
        "length": tf.constant([4, 5]),
        "truncated": tf.constant([True, True]),
    }
    answers = blank_invalid(outputs, tf.constant([True, False]))
    assert {name: a.numpy().tolist() for name, a in answers.items()} == {
        "text": [b"a", b""],
        "scores": [[0.5, 0.5], [0.0, 0.0]],
        "label": [2, -1],
        "length": [4, 0],
        "truncated": [True, False],
        "valid": [True, False],
    }
