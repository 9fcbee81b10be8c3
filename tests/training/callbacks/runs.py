"""A run of `fit` that is over at once."""

import keras
import numpy as np


def run(*callbacks, epochs=1, **options):
    """Fit a line, and return what History has seen."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True, jit_compile=False)
    x = np.ones((4, 2), "float32")
    history = model.fit(
        x,
        x[:, :1],
        epochs=epochs,
        callbacks=list(callbacks),
        **{"verbose": 0, **options},
    )
    return history.history
