"""Drops a whole branch for some of the examples."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer


@keras.saving.register_keras_serializable(package="keras_attn")
class StochasticDepth(Layer):
    """Leaves a branch out of some examples while training.

        output = x · keep / (1 - rate)    keep = 0 with probability rate, else 1

    One draw for each example, so that an example goes through a shallower
    network. Outside of training it does nothing.

    Args:
        rate: Probability that the branch is left out.
        seed: Seed of the draws.

    Call arguments:
        inputs: (batch, length, features), or any other axes after the batch.
        training: Whether anything is left out.

    Returns:
        (batch, length, features).

    Reference:
        Huang et al. 2016, section 3. https://arxiv.org/abs/1603.09382
    """

    def __init__(self, rate: float = 0.0, *, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        argument_checks.rate(rate, "rate")
        self.rate = rate
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def call(self, inputs, training=None):
        if not training or not self.rate:
            return inputs
        ones = (1,) * (len(inputs.shape) - 1)
        return keras.random.dropout(
            inputs,
            self.rate,
            noise_shape=(ops.shape(inputs)[0], *ones),
            seed=self.seed_generator,
        )

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
