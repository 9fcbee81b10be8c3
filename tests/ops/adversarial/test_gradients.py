import keras
import numpy as np

from keras_attn.ops.adversarial.gradients import loss_and_gradients


def test_only_chosen_weights_have_gradients_and_the_loss_is_unscaled():
    one, other = keras.Variable(3.0), keras.Variable(5.0)
    loss, gradients = loss_and_gradients(
        lambda: one * one * other, [one], lambda x: 10 * x
    )
    assert float(loss) == 45
    np.testing.assert_array_equal(gradients, [300.0])
