import numpy as np
import tensorflow as tf

from keras_attn.training.metrics.token_mean import TokenMean


class MeanLabel(TokenMean):
    def values(self, labels, logits, weights):
        return tf.cast(labels, weights.dtype)


def test_batches_count_by_their_real_labels():
    metric = MeanLabel(pad_id=0, name="mean")
    assert float(metric.result()) == 0
    metric.update_state(np.array([[1, 2, 3], [0, 0, 0]]), np.zeros((2, 3, 4)))
    metric.update_state(np.array([[3, 0, 0]]), np.zeros((1, 3, 4)))
    np.testing.assert_allclose(metric.result(), (1 + 2 + 3 + 3) / 4)
    metric.reset_state()
    assert float(metric.result()) == 0
