"""A model of few channels, and a batch for it."""

from keras_attn.models.sagan.model import SAGAN

SIZES = {
    "image_size": 32,
    "channels": 1,
    "noise_dim": 3,
    "generator_width": 2,
    "discriminator_width": 4,
}
CLASSES = 3


def make(**options):
    return SAGAN(**{**SIZES, "num_classes": CLASSES, **options})


def batch(rng, rows=4):
    """Images from 0 to 1, and labels."""
    images = rng.uniform(size=(rows, 32, 32, 1)).astype("float32")
    return images, rng.integers(0, CLASSES, rows)
