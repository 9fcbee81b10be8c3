"""Images and texts that belong together, to be read side by side."""

import tensorflow as tf

from keras_attn.data.tasks.image_classification import check_fields
from keras_attn.image.boxes import boxes_inside
from keras_attn.image.decode import decode_image
from keras_attn.image.value_range import check_value_range
from keras_attn.image.value_range import to_value_range
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import with_end
from keras_attn.text.layouts import with_start
from keras_attn.text.tokenizer import Tokenizer

_IMAGE_OPTIONS = {"size", "channels", "fit", "value_range", "max_pixels"}


def image_text(
    examples: tf.data.Dataset, tokenizer: Tokenizer, **image_options
) -> tf.data.Dataset:
    """Pairs to pretrain `ViLBERT` with, nothing hidden yet.

        tokens = START, text, END
        labels = tokens, region_classes, 1

    `hide_pairs` hides words and regions, and puts texts to other images, after
    `batches`, so that every epoch sees others.

    Args:
        examples: `{"text"}`, a scalar string; "region_classes", float
            (regions, classes), how likely each region is of each class; and
            what there is to see: "image", the bytes of an image file or uint8
            (height, width, channels), whose patches are the regions; or
            "features", (regions, features), and "boxes", (regions, 4): left,
            top, right, bottom as fractions of the image. A box outside of it,
            an example without any region, and a text without any token are
            errors. A region whose classes are all 0 is never asked for.
        tokenizer: Its vocabulary has START, END and MASK.
        image_options: `size`, `channels`, `fit`, `value_range` and
            `max_pixels` of images, as for `captioning`.

    Returns:
        `({"tokens", "segments", "image"}, {"masked_lm", "masked_regions",
        "alignment"})`, or with "features" and "boxes": int32 (tokens,) thrice;
        float32 (height, width, channels) and (regions, classes); an int32.

    Reference:
        Lu et al. 2019, section 2.2. https://arxiv.org/abs/1908.02265
    """
    check_fields(examples, {"text", "region_classes"})
    check_string(examples, "text", "An image with several is several examples.")
    check_regions(examples, image_options)
    check_special(tokenizer, "start", "end", "mask")

    def encode(example):
        inputs = text_row(tokenizer, example["text"])
        labels = {
            "masked_lm": inputs["tokens"],
            "masked_regions": tf.cast(example["region_classes"], tf.float32),
            "alignment": tf.ones((), tf.int32),
        }
        return inputs | as_regions(example, image_options), labels

    return examples.map(encode, tf.data.AUTOTUNE)


def text_row(tokenizer: Tokenizer, text) -> dict:
    """A text between START and END, and its segments: all 0."""
    ids = tokenizer(text)
    says_something = tf.debugging.Assert(
        tf.size(ids) > 0,
        ["A text or question must have at least one token. Received:", text],
    )
    with tf.control_dependencies([says_something]):
        ids = tf.identity(ids)
    tokens = with_start(tokenizer, with_end(tokenizer, ids))
    return {"tokens": tokens, "segments": tf.zeros_like(tokens)}


def as_regions(example, image_options: dict) -> dict:
    """What there is to see, as a model's input."""
    if "image" in example:
        options = {"channels": 3, "value_range": (0.0, 1.0), **image_options}
        value_range = options.pop("value_range")
        image = decode_image(example["image"], **options)
        return {"image": to_value_range(image, value_range)}
    inside = tf.debugging.Assert(
        boxes_inside(example["boxes"]),
        [
            "`boxes` must hold at least one region, and all within the image: "
            "left, top, right and bottom as fractions from 0 to 1. Received:",
            example["boxes"],
        ],
    )
    with tf.control_dependencies([inside]):
        return {
            name: tf.cast(tf.identity(example[name]), tf.float32)
            for name in ("features", "boxes")
        }


def check_regions(examples: tf.data.Dataset, image_options: dict) -> None:
    """Raise ValueError unless examples have regions, or images and a size."""
    spec = examples.element_spec
    has_image = "image" in spec
    has_regions = {"features", "boxes"} <= spec.keys()
    if has_image == has_regions:
        raise ValueError(
            'Examples must have an "image", or "features" and "boxes" of its '
            f"regions, and not both. They have {sorted(spec)}."
        )
    unknown = image_options.keys() - _IMAGE_OPTIONS
    if unknown or has_image != ("size" in image_options):
        raise ValueError(
            f"Images need `size`, and take {sorted(_IMAGE_OPTIONS)}; features "
            f"and boxes take none of them. Received: {sorted(image_options)}"
        )
    if has_image:
        check_value_range(image_options.get("value_range", (0.0, 1.0)))


def check_string(examples: tf.data.Dataset, name: str, advice: str) -> None:
    """Raise ValueError unless a field is a scalar string."""
    spec = examples.element_spec[name]
    if spec.dtype != tf.string or spec.shape.rank != 0:
        raise ValueError(
            f"`{name}` must be a scalar string. Received: {spec.dtype.name} of "
            f"shape {spec.shape}. {advice}"
        )
