"""Small runs that can be stopped anywhere, and what they end with."""

import keras
import numpy as np
import tensorflow as tf

from keras_attn import training

ROWS, BATCH = 14, 4
STEPS = -(-ROWS // BATCH)


def make_model(*, features=2, run_eagerly=True, **options):
    """A model with dropout, and an optimizer with a state.

    One weight alone: steps that are not compiled are quick then.
    """
    keras.utils.set_random_seed(7)
    model = keras.Sequential(
        [keras.layers.Dropout(0.5), keras.layers.Dense(1, use_bias=False)]
    )
    if features is not None:
        model.build((None, features))
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9),
        "mse",
        metrics=["mae"],
        run_eagerly=run_eagerly,
        jit_compile=False,
        **options,
    )
    return model


def make_data(kind="finite", *, seed=5, scale=1.0, is_shuffled=True):
    """Rows, mostly in another order in every pass."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 2)).astype("float32") * scale
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1] - x[:, 1:]))
    if is_shuffled:
        # A shuffle that reads from another one, which begins later.
        data = data.shuffle(ROWS, seed=seed).shuffle(5, seed=seed)
    if kind == "unknown":
        return data.filter(lambda x, y: x[0] < 9).batch(BATCH)
    data = data.batch(BATCH)
    return data.repeat() if kind == "endless" else data


class StopAt(keras.callbacks.Callback):
    """Raises KeyboardInterrupt after so many steps of this process."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def on_train_batch_end(self, batch, logs=None):
        self.steps -= 1
        if self.steps == 0:
            raise KeyboardInterrupt


def run(folder, kind="finite", *, model=None, callbacks=(), **options):
    """Train in a folder; return the model, and the history."""
    if kind == "endless":
        options = {"steps_per_epoch": 5, **options}
    model = make_model() if model is None else model
    history = training.fit(
        model,
        make_data(kind),
        checkpoints=folder,
        callbacks=list(callbacks),
        **{"save_every": 2, "epochs": 3, "verbose": 0, **options},
    )
    return model, history.history


def state(model):
    """Every number that the next step would depend on."""
    variables = model.variables + model.optimizer.variables
    return [keras.ops.convert_to_numpy(v) for v in variables]


def assert_same(model, other):
    """Two models are equal, bit for bit."""
    for one, two in zip(state(model), state(other), strict=True):
        np.testing.assert_array_equal(one, two)
