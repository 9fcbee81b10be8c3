"""AdamW that decays kernels alone, at a rate of its own for each weight."""

from collections.abc import Mapping
from collections.abc import Sequence

import keras
from keras import ops

from keras_attn.training.optimizers.lamb import NOT_ADAPTED

# `keras.optimizers.AdamW` decays biases and norms too, unless told otherwise by
# `exclude_from_weight_decay`, which is lost when a model is saved and loaded;
# and it has one rate for all.


@keras.saving.register_keras_serializable(package="keras_attn")
class AdamW(keras.optimizers.Adam):
    """Adam with decoupled weight decay, as Transformers are fine-tuned.

        w = w - f · rate · (m / (sqrt(v) + ε) + λ w)

    with Adam's corrected moments m and v of each weight w. λ is 0 for biases
    and for the factors and offsets of norms. f is 1 unless `rates` has
    another, as `layer_rates` makes them.

    Args:
        learning_rate: A number or a schedule.
        weight_decay: λ.
        beta_1, beta_2, epsilon: Of Adam.
        exclude: Endings of the paths of weights that are not decayed.
        rates: f by the path of a weight, 1 where there is none; or a list in
            the order of the trained weights, as a saved optimizer has it.
        **kwargs: As for `keras.optimizers.Adam`, such as `global_clipnorm`.

    Reference:
        Loshchilov and Hutter 2019, algorithm 2.
        https://arxiv.org/abs/1711.05101
    """

    def __init__(
        self,
        learning_rate=1e-3,
        *,
        weight_decay: float = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        exclude: Sequence[str] = NOT_ADAPTED,
        rates: Mapping[str, float] | Sequence[float] | None = None,
        name: str = "adamw",
        **kwargs,
    ):
        # Keras' own decay would come on top, at one rate for all.
        super().__init__(
            learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            name=name,
            **kwargs,
        )
        self.decay = weight_decay
        self.exclude = tuple(exclude)
        self.rates = rates or {}

    def build(self, variables):
        if self.built:
            return
        paths = [variable.path for variable in variables]
        if isinstance(self.rates, Mapping):
            # Paths begin otherwise where a saved model is loaded: orders stay.
            self.rates = self._in_order(paths)
        if len(self.rates) != len(paths):
            raise ValueError(
                "`rates` must have a number for each trained weight. Received: "
                f"{len(self.rates)} numbers for {len(paths)} weights"
            )
        super().build(variables)
        self.is_decayed = [not path.endswith(self.exclude) for path in paths]

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        rate = ops.cast(learning_rate, variable.dtype) * self.rates[index]
        if self.decay and self.is_decayed[index]:
            self.assign_sub(variable, rate * self.decay * variable)
        super().update_step(gradient, variable, rate)

    def get_config(self):
        return {
            **super().get_config(),
            "weight_decay": self.decay,
            "exclude": list(self.exclude),
            "rates": self.rates,
        }

    def _in_order(self, paths):
        unknown = sorted(self.rates.keys() - set(paths))
        if unknown:
            raise ValueError(
                "`rates` has paths that no trained weight has: "
                f"{unknown[:3]}, {len(unknown)} in all. Make them of the "
                "layers of the model that is trained."
            )
        return [self.rates.get(path, 1.0) for path in paths]
