"""Images and their classes, as training examples."""

import tensorflow as tf

from keras_attn.image.decode import decode_image
from keras_attn.image.file_size import MAX_PIXELS
from keras_attn.image.value_range import check_value_range
from keras_attn.image.value_range import to_value_range


def image_classification(
    examples: tf.data.Dataset,
    *,
    size: int | tuple[int, int],
    channels: int = 3,
    fit: str = "crop",
    value_range: tuple[float, float] = (0.0, 1.0),
    num_classes: int | None = None,
    max_pixels: int = MAX_PIXELS,
) -> tf.data.Dataset:
    """Training examples of image classification.

        pixel = low + (high - low) · byte / 255

    Args:
        examples: `{"image", "label"}`: the bytes of an image file or uint8
            (height, width, channels), and an integer scalar.
        size: Height and width of the images; one number for a square.
        channels: 3 for colour, 1 for grey; images are converted.
        fit: "crop" keeps the proportions and cuts off what is too long,
            "squeeze" keeps the whole image and not its proportions.
        value_range: The lowest and the highest value of a pixel.
        num_classes: Labels must be below it; None to check only that they are
            not negative.
        max_pixels: A file that says it has more is an error.

    Returns:
        `(image, label)`: float32 (height, width, channels) in `value_range`,
        and an int32 scalar.
    """
    check_fields(examples, {"image", "label"})
    check_value_range(value_range)
    label = examples.element_spec["label"]
    if not label.dtype.is_integer or label.shape.rank != 0:
        raise ValueError(
            "`label` must be an integer scalar, the number of the class. "
            f"Received: {label.dtype.name} of shape {label.shape}."
        )

    def encode(example):
        image = decode_image(
            example["image"], size, channels, fit=fit, max_pixels=max_pixels
        )
        image = to_value_range(image, value_range)
        return image, _check_label(example["label"], num_classes)

    return examples.map(encode, tf.data.AUTOTUNE)


def _check_label(label, num_classes):
    """Return a label as int32, failing if there is no such class."""
    label = tf.cast(label, tf.int32)
    most = tf.int32.max if num_classes is None else num_classes - 1
    in_range = tf.debugging.Assert(
        (label >= 0) & (label <= most),
        [
            "`label` must be the number of a class, from 0, with "
            f"num_classes={num_classes}. Received:",
            label,
        ],
    )
    with tf.control_dependencies([in_range]):
        return tf.identity(label)


def check_fields(examples: tf.data.Dataset, wanted: set) -> None:
    """Raise ValueError unless examples are dictionaries with these fields."""
    spec = examples.element_spec
    if not isinstance(spec, dict):
        raise ValueError(
            f"Examples must be dictionaries with {sorted(wanted)}. "
            f"Received: {spec}"
        )
    missing = wanted - spec.keys()
    if missing:
        raise ValueError(
            f"Examples lack {sorted(missing)}; they have {sorted(spec)}. "
            "Rename the fields with `Dataset.map`, or choose another task."
        )
