"""The two streams, by the sizes of their blocks."""

from keras_attn.blocks.co_attention import CoAttentionBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.models.vilbert.two_streams import TwoStreams


def make_streams(
    text: dict,
    regions: dict,
    co_attention: dict,
    *,
    at: tuple[tuple[int, int], ...] | None,
    block: dict,
    initializer,
    dtype=None,
) -> TwoStreams:
    """Make the streams of blocks that are all alike, but for their sizes.

    Args:
        text, regions: `{"num_layers", "num_heads", "hidden_dim"}` of each
            stream.
        co_attention: `{"num_heads", "units"}`, the features of all heads
            together.
        at: As `co_attention_at` of `TwoStreams`; None for one before each of
            the last layers, of as many as both streams have.
        block: Further arguments of every block.
        initializer: Of every linear map.
        dtype: Dtype or policy of all.

    Raises:
        ValueError: If the heads do not divide what they share.
    """
    heads, units = co_attention["num_heads"], co_attention["units"]
    if heads < 1 or units % heads:
        raise ValueError(
            "`num_co_heads` must divide `co_units`. Received: "
            f"num_co_heads={heads}, co_units={units}"
        )
    if at is None:
        at = at_the_last(text["num_layers"], regions["num_layers"])

    def blocks(kind, number, name, **sizes):
        return [
            kind(
                **sizes,
                **block,
                kernel_initializer=initializer.clone(),
                name=f"{name}_{index}",
                dtype=dtype,
            )
            for index in range(number)
        ]

    def stream(name, *, num_layers, **sizes):
        return blocks(EncoderBlock, num_layers, name, **sizes)

    return TwoStreams(
        stream("text", **text),
        stream("regions", **regions),
        blocks(
            CoAttentionBlock,
            len(at),
            "co_attention",
            num_heads=heads,
            hidden_dim=text["hidden_dim"],
            second_hidden_dim=regions["hidden_dim"],
            attention={"key_dim": units // heads},
        ),
        co_attention_at=at,
        name="streams",
        dtype=dtype,
    )


def at_the_last(num_layers: int, num_region_layers: int) -> tuple:
    """Before each of the last layers that both streams have."""
    number = min(num_layers, num_region_layers)
    return tuple(
        (num_layers - number + index, num_region_layers - number + index)
        for index in range(number)
    )
