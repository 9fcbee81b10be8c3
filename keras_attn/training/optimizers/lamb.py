"""LAMB: Adam whose steps are as long as the weights they change."""

from collections.abc import Sequence

import keras
from keras import ops

# What is added to or multiplied with features one by one.
NOT_ADAPTED = ("bias", "gamma", "beta", "scale")

# As of 3.15 `keras.optimizers.Lamb` decays weights beside the update, not
# within it: not shortened by |w| / |r|, the same number decays far more.


@keras.saving.register_keras_serializable(package="keras_attn")
class Lamb(keras.optimizers.Optimizer):
    """Layer-wise adaptive moments, as the paper has them.

        m = β1 m + (1 - β1) g,    v = β2 v + (1 - β2) g²
        r = (m / (1 - β1ⁿ)) / (sqrt(v / (1 - β2ⁿ)) + ε) + λ w
        w = w - rate · (|w| / |r|) r

    for each weight w with its gradient g in the n-th update, counted from 1;
    |w| / |r| is taken as 1 where either is 0.

    Args:
        learning_rate: A number or a schedule.
        weight_decay: λ, part of r, so that it is adapted with it.
        beta_1, beta_2, epsilon: β1, β2 and ε.
        exclude: Endings of the paths of weights that are neither decayed nor
            adapted, for which w = w - rate r as in Adam.
        **kwargs: As for `keras.optimizers.Optimizer`, such as
            `global_clipnorm`.

    Reference:
        You et al. 2020, algorithm 2. https://arxiv.org/abs/1904.00962
    """

    def __init__(
        self,
        learning_rate=1e-3,
        *,
        weight_decay: float = 0.0,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        exclude: Sequence[str] = NOT_ADAPTED,
        name: str = "lamb",
        **kwargs,
    ):
        # Keras' own decay would come on top.
        super().__init__(learning_rate, name=name, **kwargs)
        self.decay = weight_decay
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.exclude = tuple(exclude)

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.momentums, self.velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )
        self.is_adapted = [
            not variable.path.endswith(self.exclude) for variable in variables
        ]

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        m, v = self.momentums[index], self.velocities[index]
        gradient = ops.cast(gradient, variable.dtype)
        n = ops.cast(self.iterations + 1, variable.dtype)
        self.assign(m, self.beta_1 * m + (1 - self.beta_1) * gradient)
        self.assign(
            v, self.beta_2 * v + (1 - self.beta_2) * ops.square(gradient)
        )
        mean = m / (1 - ops.power(self.beta_1, n))
        spread = ops.sqrt(v / (1 - ops.power(self.beta_2, n)))
        update = mean / (spread + self.epsilon)
        if self.is_adapted[index]:
            update += self.decay * variable
            update *= _trust(_norm(variable), _norm(update))
        rate = ops.cast(learning_rate, variable.dtype)
        self.assign_sub(variable, rate * update)

    def get_config(self):
        return {
            **super().get_config(),
            "weight_decay": self.decay,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "exclude": list(self.exclude),
        }


def _norm(tensor):
    return ops.sqrt(ops.sum(ops.square(tensor)))


def _trust(weight, update):
    ratio = weight / ops.where(update > 0, update, ops.ones_like(update))
    return ops.where((weight > 0) & (update > 0), ratio, ops.ones_like(ratio))
