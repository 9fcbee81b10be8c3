"""Images and what is said about them, as training examples."""

import tensorflow as tf

from keras_attn.data.tasks.image_classification import check_fields
from keras_attn.image.decode import decode_image
from keras_attn.text.tokenizer import Tokenizer


def captioning(
    examples: tf.data.Dataset,
    tokenizer: Tokenizer,
    *,
    size: int | tuple[int, int],
    channels: int = 3,
    fit: str = "crop",
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

    Returns:
        `({"image", "target"}, labels)`: float32 (height, width, channels)
        between 0 and 1, and int32 ids of as many tokens as there are.
    """
    check_fields(examples, {"image", "caption"})
    caption = examples.element_spec["caption"]
    if caption.dtype != tf.string or caption.shape.rank != 0:
        raise ValueError(
            "`caption` must be a scalar string. Received: "
            f"{caption.dtype.name} of shape {caption.shape}. An image with "
            "several captions is several examples."
        )
    if tokenizer.start_id is None or tokenizer.end_id is None:
        raise ValueError(
            "Captions are learnt from START to END, and the vocabulary lacks "
            f"one of them. Received: start_id={tokenizer.start_id}, "
            f"end_id={tokenizer.end_id}."
        )

    def encode(example):
        image = decode_image(example["image"], size, channels, fit=fit)
        ids = tokenizer(example["caption"])
        target = tf.concat([[tokenizer.start_id], ids], axis=0)
        labels = tf.concat([ids, [tokenizer.end_id]], axis=0)
        return {"image": image, "target": target}, labels

    return examples.map(encode, tf.data.AUTOTUNE)
