"""Two stacks of blocks with co-attention between them."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.base.mask_carrier import MaskCarrier
from keras_attn.blocks.fresh_config import unshared
from keras_attn.models.stack import as_block
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class TwoStreams(Layer):
    """A text's and an image's encoder that learn of each other at some layers.

        x, y = co_block(text_block(… x), region_block(… y))

    again and again, then the blocks that are left. The streams need not be
    equally deep: a text wants more context before it meets an image.

    Args:
        text_blocks, region_blocks: `EncoderBlock`s, or their configs.
        co_blocks: `CoAttentionBlock`s, or their configs.
        co_attention_at: For each of them how many text blocks and how many
            region blocks come before it.

    Call arguments:
        text: (batch, length, text_features).
        regions: (batch, regions, region_features).
        text_mask, regions_mask: (batch, length) and (batch, regions) padding
            masks; filled in by Keras.
        return_attention_scores: Whether to return the weights as well.
        training: Whether anything is dropped.

    Returns:
        (batch, length, text_features) and (batch, regions, region_features);
        if asked for, then two lists with an entry for each co-attention: how
        tokens saw regions, (batch, heads, length, regions), and how regions
        saw tokens, (batch, heads, regions, length).

    Reference:
        Lu et al. 2019, section 2.2, figure 1. https://arxiv.org/abs/1908.02265
    """

    def __init__(
        self,
        text_blocks,
        region_blocks,
        co_blocks,
        *,
        co_attention_at,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.text_blocks = [as_block(block) for block in text_blocks]
        self.region_blocks = [as_block(block) for block in region_blocks]
        self.co_blocks = [as_block(block) for block in co_blocks]
        self.co_attention_at = [tuple(pair) for pair in co_attention_at]
        self._check_order()
        self.carry_mask = MaskCarrier(dtype=self.dtype_policy)
        self.supports_masking = True

    def build(self, text_shape, regions_shape):
        for blocks, shapes in (
            (self.text_blocks, [text_shape]),
            (self.region_blocks, [regions_shape]),
            (self.co_blocks, [text_shape, regions_shape]),
        ):
            for block in blocks:
                # A block comes back from its config already built.
                if not block.built:
                    block.build(*shapes)

    def call(
        self,
        text,
        regions,
        *,
        text_mask=None,
        regions_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        x = masks.zero_padding(text, text_mask, "text_mask")
        y = masks.zero_padding(regions, regions_mask, "regions_mask")
        read_text = {"mask": text_mask, "training": training}
        read_regions = {"mask": regions_mask, "training": training}
        forth, back = [], []
        done = 0, 0
        for co_block, before in zip(
            self.co_blocks, self.co_attention_at, strict=True
        ):
            x = _through(self.text_blocks[done[0] : before[0]], x, read_text)
            y = _through(
                self.region_blocks[done[1] : before[1]], y, read_regions
            )
            x, y, *weights = co_block(
                x,
                y,
                first_mask=text_mask,
                second_mask=regions_mask,
                return_attention_scores=return_attention_scores,
                training=training,
            )
            if return_attention_scores:
                forth.append(weights[0])
                back.append(weights[1])
            done = before
        x = _through(self.text_blocks[done[0] :], x, read_text)
        y = _through(self.region_blocks[done[1] :], y, read_regions)
        x, y = (ops.cast(each, self.compute_dtype) for each in (x, y))
        y = self.carry_mask(y, mask=regions_mask)
        return (x, y, forth, back) if return_attention_scores else (x, y)

    def compute_output_spec(self, text, regions, **options):
        """Describe what `call` returns.

        Keras would trace all blocks to find out, half a second for each.
        """
        if options.get("return_attention_scores"):
            return super().compute_output_spec(text, regions, **options)
        return tuple(
            keras.KerasTensor(x.shape, self.compute_dtype)
            for x in (text, regions)
        )

    def get_config(self):
        return {
            **super().get_config(),
            "text_blocks": unshared(list(self.text_blocks)),
            "region_blocks": unshared(list(self.region_blocks)),
            "co_blocks": unshared(list(self.co_blocks)),
            "co_attention_at": [list(pair) for pair in self.co_attention_at],
        }

    def _check_order(self):
        depths = len(self.text_blocks), len(self.region_blocks)
        at = self.co_attention_at
        rising = all(
            len(pair) == 2 and 0 <= before <= after <= depth
            for last, pair in zip([(0, 0), *at], at, strict=False)
            for before, after, depth in zip(last, pair, depths, strict=False)
        )
        if not rising or len(at) != len(self.co_blocks):
            raise ValueError(
                "`co_attention_at` must be pairs: how many layers of the text "
                "and how many of the regions come before each co-attention, "
                f"rising from (0, 0) to at most {depths}. Received: {at}"
            )


def _through(blocks, x, options):
    for block in blocks:
        x = block(x, **options)
    return x
