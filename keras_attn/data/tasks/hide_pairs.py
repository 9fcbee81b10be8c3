"""Pairs of images and texts with something hidden, or put together wrongly."""

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.pipeline.stateless_seeds import split
from keras_attn.data.pipeline.stateless_seeds import with_seeds
from keras_attn.data.tasks.masked_language_model import choose
from keras_attn.data.tasks.masked_language_model import token_hider
from keras_attn.text.layouts import special_id
from keras_attn.text.tokenizer import Tokenizer

USE = 4  # of the seeds; others belong to other modules
SEEN = 0.1  # how often a region that is asked for can be seen all the same


def hide_pairs(
    batches: tf.data.Dataset,
    tokenizer: Tokenizer,
    *,
    patch_size: int | tuple[int, int] | None = None,
    rate: float = 0.15,
    mismatched: float = 0.5,
    seed: int = 0,
) -> tf.data.Dataset:
    """Hide words and regions of each pair, others in every epoch.

        regions   = max(1, round(rate · n)) of the n regions are chosen
        feature   = 0 for 90 % of the chosen; as it was for 10 %
        target    = their classes if chosen and asked for, else 0
        alignment = 0 for `mismatched` of the rows, which get the next row's
                    text, else 1

    Words are hidden as `mask_tokens` hides them. In pairs that do not belong
    together as much is hidden, and nothing of it asked.

    Args:
        batches: `image_text` in batches of two rows or more.
        tokenizer: Its vocabulary has PAD and MASK.
        patch_size: Side of a region in pixels, or height and width, if there
            are images; their "region_classes" go row by row.
        rate: Share of words and regions to choose, above 0 and up to 1.
        mismatched: Share of rows with another row's text, from 0 to below 1.
        seed: The same seed hides the same.

    Returns:
        The same structure and shapes, (batch, length) and so on.

    Reference:
        Lu et al. 2019, section 2.2, figure 3. https://arxiv.org/abs/1908.02265
    """
    argument_checks.rate(mismatched, "mismatched")
    hide_tokens = token_hider(tokenizer, rate)
    pad = special_id(tokenizer, "pad")
    inputs, labels = batches.element_spec
    has_image = "image" in inputs
    if has_image != (patch_size is not None):
        raise ValueError(
            "`patch_size` goes with images, whose patches are regions; "
            "features and boxes tell by themselves. Received: "
            f"patch_size={patch_size} for inputs {sorted(inputs)}"
        )
    if has_image:
        one = argument_checks.is_integer(patch_size)
        sides = (patch_size, patch_size) if one else tuple(patch_size)
        grid = _check_grid(inputs["image"], labels["masked_regions"], sides)

    def hide(batch, seed):
        inputs, labels = batch
        seeds = tf.unstack(split(seed, 4))
        swapped, apart = _swap(inputs, mismatched, seeds[0])
        tokens, words = hide_tokens(swapped["tokens"], seeds[1])
        if has_image:
            regions = tf.ones(tf.shape(labels["masked_regions"])[:2], tf.bool)
        else:
            regions = tf.reduce_any(inputs["boxes"] != 0, axis=-1)
        chosen = choose(regions, rate, seeds[2])
        shown = tf.random.stateless_uniform(tf.shape(chosen), seeds[3]) < SEEN
        kept = tf.cast(~chosen | shown, tf.float32)  # (batch, regions)
        changed = swapped | {"tokens": tokens}
        if has_image:
            changed["image"] = inputs["image"] * _pixels(kept, grid, sides)
        else:
            changed["features"] = inputs["features"] * kept[..., None]
        # Hidden all the same: who sees what is hidden must not know by that
        # alone which pairs belong together.
        asked = tf.cast(chosen & ~apart[:, None], tf.float32)[..., None]
        return inputs | changed, {
            "masked_lm": tf.where(apart[:, None], pad, words),
            "masked_regions": labels["masked_regions"] * asked,
            "alignment": tf.cast(~apart, tf.int32),
        }

    seeded = with_seeds(batches, seed, use=USE)
    return seeded.map(hide, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _swap(inputs, rate, seed):
    """Give some rows the next row's text, and say which it does not fit."""
    tokens = inputs["tokens"]
    chosen = tf.random.stateless_uniform(tf.shape(tokens)[:1], seed) < rate
    swapped = {
        name: tf.where(
            chosen[:, None], tf.roll(inputs[name], -1, axis=0), inputs[name]
        )
        for name in ("tokens", "segments")
    }
    # Two images may be described by the same words.
    return swapped, tf.reduce_any(swapped["tokens"] != tokens, axis=1)


def _check_grid(image, classes, sides):
    """Rows and columns of patches, of which there is a target each."""
    _, height, width, _ = image.shape
    grid = height // sides[0], width // sides[1]
    whole = (grid[0] * sides[0], grid[1] * sides[1]) == (height, width)
    if not whole or classes.shape[1] not in (None, grid[0] * grid[1]):
        raise ValueError(
            "`patch_size` must cut the images into as many patches as there "
            f"are region_classes. Received: patch_size={sides}, images of "
            f"{(height, width)}, region_classes of shape "
            f"{tuple(classes.shape[1:])}"
        )
    return grid


def _pixels(kept, grid, sides):
    """Numbers of patches, for each of their pixels."""
    kept = tf.reshape(kept, [-1, *grid])
    kept = tf.repeat(tf.repeat(kept, sides[0], axis=1), sides[1], axis=2)
    return kept[..., None]  # (batch, height, width, 1)
