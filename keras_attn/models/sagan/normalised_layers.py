"""Layers of both networks, with spectral normalisation."""

import keras

from keras_attn.attention.spatial import SpatialSelfAttention
from keras_attn.wrappers.spectral_normalization import SpectralNormalization

# The most that widths grow by towards the smallest grid.
MOST_WIDTHS = 16


def dense(units: int, name: str, dtype):
    """A linear map."""
    return _normalised(
        keras.layers.Dense(units, name="linear", dtype=dtype), name
    )


def embedding(num_classes: int, units: int, name: str, dtype):
    """A vector for each class."""
    table = keras.layers.Embedding(
        num_classes,
        units,
        embeddings_initializer="glorot_uniform",
        name="table",
        dtype=dtype,
    )
    return _normalised(table, name)


def convolution(channels: int, size: int, name: str, dtype):
    """A convolution that keeps the size of the grid."""
    layer = keras.layers.Conv2D(
        channels, size, padding="same", name="convolution", dtype=dtype
    )
    return _normalised(layer, name)


def attention(resolution: int, form: str, dtype):
    """Self-attention of a grid, named after its size."""
    return SpatialSelfAttention(
        form=form,
        spectral_normalization=True,
        name=f"attention_{resolution}",
        dtype=dtype,
    )


def growth(image_size: int, resolution: int) -> int:
    """By how much the channels of a grid exceed those of the finest one.

    They double with each halving of the grid, up to 16 times.
    """
    return min(image_size // resolution, MOST_WIDTHS)


def _normalised(layer, name):
    return SpectralNormalization(layer, name=name)
