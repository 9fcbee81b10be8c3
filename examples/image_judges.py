"""What made digits are judged by: two classifiers, and Gaussian pixels."""

import itertools

import keras
import numpy as np
from sklearn.svm import SVC

from keras_attn import data
from keras_attn import training

CLASSES = 10
SIZE = 32  # the smallest images that a SAGAN makes
SIDE = 8  # of the digits as they were scanned


def digits(split):
    """Images from 0 to 1, as large as a SAGAN makes them, and labels."""
    examples = data.load("digits", split=split)
    return data.image_classification(examples, size=SIZE, channels=1)


def arrays(*splits):
    """The images of splits at their own size, and their labels."""
    parts = [list(digits(x).as_numpy_iterator()) for x in splits]
    images, labels = zip(*itertools.chain(*parts), strict=True)
    return shrink(np.stack(images)), np.array(labels)


def shrink(images):
    """Means of squares: (batch, 32, 32, 1) to (batch, 8, 8, 1)."""
    step = SIZE // SIDE
    squares = np.reshape(images, (-1, SIDE, step, SIDE, step, 1))
    return squares.mean(axis=(2, 4))


class Judges:
    """Two classifiers, neither of which has seen a made image.

    Args:
        split: Whose images the Fréchet distance is measured to.
    """

    def __init__(self, split):
        keras.utils.set_random_seed(0)
        known, labels = arrays("train")
        network = keras.Sequential(
            [
                keras.Input((SIDE, SIDE, 1)),
                keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
                keras.layers.MaxPooling2D(),
                keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
                keras.layers.Flatten(),
                keras.layers.Dense(32, activation="relu"),
                keras.layers.Dense(CLASSES),
            ]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        network.compile("adam", loss, metrics=["accuracy"], jit_compile=False)
        network.fit(known, labels, epochs=30, verbose=0)
        self.features = keras.Model(network.inputs, network.layers[-2].output)
        self.real = self.features.predict(arrays(split)[0], verbose=0)

        unseen, unseen_labels = arrays("validation", "test")
        self.namer = SVC(C=10).fit(
            unseen.reshape(len(unseen), -1), unseen_labels
        )
        right = network.evaluate(*arrays(split), verbose=0)[1]
        print(
            f"The CNN is right about {right:.1%} of the {split} split, the "
            f"SVM about {self.named(known, labels):.1%} of the training split."
        )

    def distance(self, images):
        """The Fréchet distance of small images to real ones."""
        made = self.features.predict(images, verbose=0)
        return training.frechet_distance(made, self.real)

    def named(self, images, labels):
        """The share of small images that are named as they were meant."""
        found = self.namer.predict(images.reshape(len(images), -1))
        return np.mean(found == labels)


def gaussian_pixels(images, number, rng):
    """Images of independent Gaussian pixels, cut to what pixels can be."""
    shape = (number, *images.shape[1:])
    made = rng.normal(images.mean(axis=0), images.std(axis=0), shape)
    return np.clip(made, 0, 1)
