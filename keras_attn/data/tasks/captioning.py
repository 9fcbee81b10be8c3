"""Images and what is said about them, as training examples."""

import tensorflow as tf

from keras_attn.data.tasks.image_classification import check_fields
from keras_attn.image.decode import decode_image
from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.image.value_range import check_value_range
from keras_attn.image.value_range import to_value_range
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import with_end
from keras_attn.text.layouts import with_start
from keras_attn.text.tokenizer import Tokenizer


def captioning(
    examples: tf.data.Dataset,
    tokenizer: Tokenizer,
    *,
    size: int | tuple[int, int],
    channels: int = 3,
    fit: str = "crop",
    value_range: tuple[float, float] = (0.0, 1.0),
    max_pixels: int = MAX_PIXELS,
) -> tf.data.Dataset:
    """Training examples of captioning, for teacher forcing.

        target = START, ids        labels = ids, END

    Args:
        examples: `{"image", "caption"}`: the bytes of an image file or uint8
            (height, width, channels), and a scalar string.
        tokenizer: Turns captions into ids; its vocabulary has START and END.
        size: Height and width of the images; one number for a square.
        channels: 3 for colour, 1 for grey; images are converted.
        fit: "crop" keeps the proportions and cuts off what is too long,
            "squeeze" keeps the whole image and not its proportions.
        value_range: The lowest and the highest value of a pixel.
        max_pixels: A file that says it has more is an error.

    Returns:
        `({"image", "target"}, labels)`: float32 (height, width, channels)
        in `value_range`, and int32 ids of as many tokens as there are.
    """
    check_fields(examples, {"image", "caption"})
    check_value_range(value_range)
    caption = examples.element_spec["caption"]
    if caption.dtype != tf.string or caption.shape.rank != 0:
        raise ValueError(
            "`caption` must be a scalar string. Received: "
            f"{caption.dtype.name} of shape {caption.shape}. An image with "
            "several captions is several examples."
        )
    check_special(tokenizer, "start", "end")

    def encode(example):
        image = decode_image(
            example["image"], size, channels, fit=fit, max_pixels=max_pixels
        )
        ids = tokenizer(example["caption"])
        target = with_start(tokenizer, ids)
        image = to_value_range(image, value_range)
        return {"image": image, "target": target}, with_end(tokenizer, ids)

    return examples.map(encode, tf.data.AUTOTUNE)
