"""A small model that writes captions, by the protocol and no class of ours."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_attn.base.state import State
from keras_attn.image.decode import decode_image
from tests.export.writers import TARGET

HEIGHT, WIDTH, CHANNELS = 4, 6, 3
GRID = 2, 3
# What it should not write, as a random model would: all but the end.
SPECIAL = (0, 1, 2, 4)


class Captioner(keras.Model):
    """Each token attends to the cells of a grid: what comes next is there.

    weights = softmax(E[token] · cell)
    logits  = W (E[token] + Σ weights cell)
    """

    def __init__(self, features=5):
        image = keras.Input((HEIGHT, WIDTH, CHANNELS), name="image")
        target = keras.Input((None,), dtype="int32", name="target")
        convolution = keras.layers.Conv2D(features, 2, strides=2)
        embedding = keras.layers.Embedding(TARGET.vocabulary_size, features)
        dense = keras.layers.Dense(TARGET.vocabulary_size)
        x, cells = embedding(target), convolution(image)
        cells = keras.layers.Reshape((-1, features))(cells)
        context = keras.layers.Attention()([x, cells])
        logits = dense(keras.layers.Add()([x, context]))
        super().__init__({"image": image, "target": target}, logits)
        self.convolution, self.embedding = convolution, embedding
        self.dense = dense

    def memory(self, image):
        cells = self.convolution(image)
        return ops.reshape(cells, (-1, GRID[0] * GRID[1], cells.shape[-1]))

    def encode(self, inputs, max_length):
        memory = inputs.get("memory")
        memory = self.memory(inputs["image"]) if memory is None else memory
        return State(ops.zeros(ops.shape(memory)[:1]), memory)

    def step(self, token, state, index):
        x = self.embedding(token)
        weights = ops.softmax(ops.einsum("bf,bkf->bk", x, state.constant))
        context = ops.einsum("bk,bkf->bf", weights, state.constant)
        return self.dense(x + context), state

    def alignment(self, inputs, tokens):
        memory = self.encode(inputs, 1).constant
        scores = ops.einsum("bqf,bkf->bqk", self.embedding(tokens), memory)
        rows, length = ops.shape(scores)[0], scores.shape[1]
        return ops.reshape(ops.softmax(scores), (rows, length, *GRID))


def captioner():
    """One whose captions differ, in length too."""
    model = Captioner()
    rng = np.random.default_rng(22)
    for weight in model.weights:
        weight.assign(2 * rng.normal(size=weight.shape))
    return model


def decoded(files, **options):
    """Images as the training pipeline makes them."""
    size = HEIGHT, WIDTH
    return tf.stack([decode_image(file, size, **options) for file in files])
