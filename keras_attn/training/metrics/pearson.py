"""How straight a line two numbers lie on."""

import keras
import tensorflow as tf

# What rounding leaves of the spread of a constant, beside its square.
_ROUNDING = 1e-13


@keras.saving.register_keras_serializable(package="keras_attn")
class PearsonCorrelation(keras.metrics.Metric):
    """Pearson's correlation over all examples: one of STS-B's metrics.

        correlation = Σ (x - x̄)(y - ȳ) / sqrt(Σ (x - x̄)² Σ (y - ȳ)²)

    with x what is true and y what is predicted. It is made of sums, in
    float64, which add up over batches and devices. That of Keras correlates
    the numbers within each example, and gives the mean over examples.

    Call arguments:
        y_true, y_pred: (batch, 1) numbers.
        sample_weight: (batch,), what each example counts.

    Returns:
        A number from -1 to 1; 0 if one of the sides is constant.

    Reference:
        Cer et al. 2017, on STS-B. https://arxiv.org/abs/1708.00055
    """

    def __init__(self, *, name: str = "pearson"):
        super().__init__(name=name)
        # Of 1, x, y, x², y² and xy.
        self.sums = self.add_variable((6,), "zeros", dtype="float64")

    def update_state(self, y_true, y_pred, sample_weight=None):
        x, y = (
            tf.reshape(tf.cast(given, tf.float64), [-1])
            for given in (y_true, y_pred)
        )
        terms = tf.stack([tf.ones_like(x), x, y, x * x, y * y, x * y])
        if sample_weight is not None:
            terms *= tf.reshape(tf.cast(sample_weight, tf.float64), [-1])
        self.sums.assign_add(tf.reduce_sum(terms, axis=1))

    def result(self):
        number, x, y, xx, yy, xy = tf.unstack(tf.convert_to_tensor(self.sums))
        shared = number * xy - x * y
        spread = _spread(number, x, xx) * _spread(number, y, yy)
        correlation = tf.math.divide_no_nan(shared, tf.sqrt(spread))
        return tf.cast(tf.clip_by_value(correlation, -1, 1), tf.float32)

    def get_config(self):
        return {"name": self.name}


def _spread(number, total, squares):
    """n Σ x² - (Σ x)², which is 0 for a constant."""
    spread = number * squares - total**2
    return tf.where(
        spread > _ROUNDING * number * squares, spread, tf.zeros_like(spread)
    )
