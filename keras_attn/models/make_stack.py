"""A stack of blocks, by their common arguments."""

from keras_attn.base import argument_checks
from keras_attn.models.stack import Stack


def make_stack(
    kind: type, num_layers: int, block: dict, *, initializer=None, **options
) -> Stack:
    """Make a stack of blocks that are alike, but for what may be a list.

    Args:
        kind: `EncoderBlock` or `DecoderBlock`.
        num_layers: How many.
        block: Arguments of each. `stochastic_depth` may be a list of every
            block's; one number is the last block's, to which the others' rise
            from 0. `attention` may be a list as well.
        initializer: Of every linear map, and of positions that are learned;
            None for their own.
        options: Further arguments of `Stack`; `dtype` is the blocks' as well.

    Reference:
        Huang et al. 2016, section 3. https://arxiv.org/abs/1603.09382
    """

    def fresh(name):
        return {} if initializer is None else {name: initializer.clone()}

    block = dict(block)
    rates = _rates(block.pop("stochastic_depth", 0.0), num_layers)
    attentions = _attentions(block.pop("attention", None), num_layers)
    blocks = [
        kind(
            **block,
            **fresh("kernel_initializer"),
            stochastic_depth=rate,
            attention=attention,
            name=f"block_{number}",
            dtype=options.get("dtype"),
        )
        for number, (rate, attention) in enumerate(
            zip(rates, attentions, strict=True)
        )
    ]
    return Stack(blocks, **fresh("position_initializer"), **options)


def _rates(stochastic_depth, num_layers):
    """How often each block is left out."""
    if isinstance(stochastic_depth, (list, tuple)):
        if len(stochastic_depth) != num_layers:
            raise ValueError(
                "`stochastic_depth` must be one rate, or one for each of the "
                f"{num_layers} layers. Received: {stochastic_depth}"
            )
        return stochastic_depth
    argument_checks.rate(stochastic_depth, "stochastic_depth")
    last = max(num_layers - 1, 1)
    return [stochastic_depth * number / last for number in range(num_layers)]


def _attentions(attention, num_layers):
    """The arguments of each block's attention."""
    if not isinstance(attention, (list, tuple)):
        return [attention] * num_layers
    if len(attention) != num_layers:
        raise ValueError(
            "`attention` must be one dictionary, or a list with one for each "
            f"of the {num_layers} layers. Received: {len(attention)} of them."
        )
    return attention
