"""Lower learning rates for lower layers."""

from collections.abc import Sequence

import keras

from keras_attn.base import argument_checks


def layer_rates(layers: Sequence, decay: float) -> dict[str, float]:
    """Factors of the learning rate that shrink from layer to layer.

        f(k) = decay^(n - k)          for layer k of n, the lowest being 0

    and 1 for what is not listed, the new head: lower layers hold what is
    general, and change less when a model is fine-tuned.

        layers = [[bert.embedding, bert.encoder], *bert.encoder.blocks]
        AdamW(2e-5, rates=layer_rates(layers, 0.8))

    Args:
        layers: Built layers from the lowest to the highest; those in a list
            share a factor. A layer within one that came before goes by its
            own.
        decay: From 0, exclusive, to 1.

    Returns:
        Factors by the paths of the layers' weights, for `AdamW(rates=...)`.

    Reference:
        Howard and Ruder 2018, section 3.2. https://arxiv.org/abs/1801.06146
        Clark et al. 2020, appendix A.2. https://arxiv.org/abs/2003.10555
    """
    argument_checks.share(decay, "decay")
    rates = {}
    for number, together in enumerate(layers):
        for layer in keras.tree.flatten(together):
            if not layer.built:
                raise ValueError(
                    f"The layer {layer.name!r} is not built, so it has no "
                    "weights yet. Build or call the model first."
                )
            factor = float(decay) ** (len(layers) - number)
            rates |= {each.path: factor for each in layer.trainable_weights}
    return rates
