"""Small models, trained on one device or under a strategy.

As a script it is one of several workers, which TF_CONFIG names, or has four
logical CPUs:

    python -m tests.training.distribution.trained_together FOLDER
"""

import os
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_attn import models
from keras_attn import training

ROWS, LENGTH, VOCABULARY = 22, 5, 11
BATCH = 8  # the last batch has 6 rows, or an odd number for each of four
STEPS = 20


def sequences(rng, rows=ROWS):
    """Ids whose rows have all lengths, so that halves of batches differ."""
    ids = rng.integers(3, VOCABULARY, (rows, LENGTH)).astype("int32")
    lengths = rng.integers(1, LENGTH + 1, rows)
    lengths[:4] = (1, LENGTH, 1, LENGTH)  # the halves of a shared-out batch
    return np.where(np.arange(LENGTH) < lengths[:, None], ids, 0)


def transformer(rng, dtype):
    model = models.Transformer(
        vocabulary_size=VOCABULARY,
        num_layers=1,
        num_heads=2,
        units=6,
        feed_forward_units=7,
        dropout=0.0,
        dtype=dtype,
    )
    source, target = sequences(rng), sequences(rng)
    return model, ({"source": source, "target": target}, target), masked()


def bert(rng, dtype):
    model = models.BERT(
        vocabulary_size=VOCABULARY,
        num_layers=1,
        num_heads=2,
        units=6,
        feed_forward_units=7,
        max_length=LENGTH,
        dropout=0.0,
        head="masked_lm",
        dtype=dtype,
    )
    tokens = sequences(rng)
    inputs = {"tokens": tokens, "segments": np.zeros_like(tokens)}
    hidden = rng.random(tokens.shape) < 0.5
    return model, (inputs, np.where(hidden, tokens, 0)), masked()


def image_model(rng, dtype):
    model = models.ViT(
        image_size=4,
        patch_size=2,
        num_layers=1,
        num_heads=2,
        units=6,
        feed_forward_units=7,
        num_classes=3,
        dtype=dtype,
    )
    images = rng.normal(size=(ROWS, 4, 4, 3))
    labels = rng.integers(0, 3, ROWS)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return model, (images, labels), loss


def recurrent(rng, dtype):
    model = models.RNNSeq2Seq(
        source_vocabulary_size=VOCABULARY,
        target_vocabulary_size=VOCABULARY,
        units=6,
        dropout=0.0,
        dtype=dtype,
    )
    source, target = sequences(rng), sequences(rng)
    return model, ({"source": source, "target": target}, target), masked()


class MeanSquare(keras.layers.Layer):
    """Adds the mean square of its inputs to the loss."""

    def call(self, inputs):
        # Keras adds losses of one dtype only.
        x = keras.ops.cast(inputs, keras.config.floatx())
        self.add_loss(0.1 * keras.ops.mean(x**2))
        return inputs


def of_keras(rng, dtype):
    """Layers of Keras alone, with losses of two kinds that layers add."""
    image = keras.Input((6,))
    x = keras.layers.Dense(5, "tanh", kernel_regularizer="l2", dtype=dtype)(
        image
    )
    x = MeanSquare(dtype=dtype)(x)
    model = keras.Model(
        image,
        {
            name: keras.layers.Dense(2, dtype=dtype, name=name)(x)
            for name in ("first", "second")
        },
    )
    labels = {name: rng.normal(size=(ROWS, 2)) for name in ("first", "second")}
    weights = rng.random(ROWS)
    inputs = rng.normal(size=(ROWS, 6))
    return model, (inputs, labels, weights), {"first": "mse", "second": "mae"}


def masked():
    return training.MaskedCrossentropy(label_smoothing=0.1)


MODELS = {
    "transformer": transformer,
    "bert": bert,
    "image": image_model,
    "recurrent": recurrent,
    "keras": of_keras,
}


def train(
    name, strategy=None, *, micro_batches=1, jit_compile=True, dtype="float64"
):
    """Train one of `MODELS`.

    Returns:
        Its weights but the biases of keys, its history and its evaluation.
        Softmax does not see a number that all keys have in common: gradients
        of those biases are rounding errors, which Adam makes large.
    """
    strategy = strategy or tf.distribute.get_strategy()
    keras.config.set_floatx("float64" if dtype == "float64" else "float32")
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model, arrays, loss = MODELS[name](np.random.default_rng(2), dtype)
        model.compile(
            keras.optimizers.Adam(1e-2, global_clipnorm=1.0),
            loss=loss,
            jit_compile=jit_compile,
        )
    if micro_batches > 1 or not isinstance(model, models.Transformer):
        training.distributed(model, micro_batches=micro_batches)
    rows = tf.data.Dataset.from_tensor_slices(arrays)
    history = model.fit(
        rows.batch(BATCH).repeat(),
        epochs=2,
        steps_per_epoch=STEPS // 2,
        verbose=0,
        shuffle=False,
    ).history
    found = model.evaluate(rows.batch(BATCH), verbose=0, return_dict=True)
    keras.config.set_floatx("float32")
    kept = [x.numpy() for x in model.weights if "key/bias" not in x.path]
    return kept, history, found


def save(path, weights, history, found):
    """Write what `train` returned."""
    np.savez(path, *weights, history=history["loss"], evaluation=found["loss"])


def work_with_others(folder):
    """Train all models under the strategy of TF_CONFIG, and save them."""
    strategy = training.strategy("multi_worker")
    for name, dtype in TOGETHER:
        result = train(name, strategy, dtype=dtype)
        if strategy.cluster_resolver.task_id == 0:
            save(folder / f"{name}_{dtype}.npz", *result)
    refuse_unequal_datasets(folder, strategy)


def refuse_unequal_datasets(folder, strategy):
    """Write what `fit` says if the second worker has more batches."""
    index = strategy.cluster_resolver.task_id
    with strategy.scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", loss="mse")
    rows = np.ones((4 + 2 * index, 1))
    data = tf.data.Dataset.from_tensor_slices((rows, rows)).batch(2)
    try:
        training.distributed(model).fit(data, verbose=0)
    except ValueError as error:
        (folder / f"refused_{index}.txt").write_text(str(error))


def mirror(folder):
    """Train on two and on four logical CPUs, also in parts of batches."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    one = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [one] * 4)
    for replicas in (2, 4):
        strategy = tf.distribute.MirroredStrategy(
            [f"CPU:{i}" for i in range(replicas)],
            # Collectives of two sizes do not go together in a process.
            cross_device_ops=tf.distribute.ReductionToOneDevice(),
        )
        for parts in (1, 2):
            for name in MIRRORED:
                # XLA compiles for each replica, a minute for the larger one.
                result = train(
                    name,
                    strategy,
                    micro_batches=parts,
                    jit_compile=name == "keras",
                )
                save(folder / f"{name}_{replicas}_{parts}.npz", *result)
        if replicas == 2:
            half = train(
                "keras", strategy, jit_compile=False, dtype="mixed_float16"
            )
            save(folder / "keras_mixed_float16.npz", *half)
            np.save(folder / "masks.npy", dropout_masks(strategy))


def dropout_masks(strategy):
    """What two replicas' steps with dropout leave of (2, 50) ones."""
    with strategy.scope():
        inputs = keras.Input((50,))
        model = Kept(inputs, keras.layers.Dropout(0.5, seed=3)(inputs))
        model.compile(keras.optimizers.SGD(), loss="mse", jit_compile=False)
        model.outputs_seen = keras.Variable(
            np.zeros((50,)),
            trainable=False,
            aggregation="sum",
            synchronization="on_read",
        )
    training.distributed(model)
    ones = np.ones((2, 50), "float32")
    model.fit(ones, ones, batch_size=2, verbose=0)
    seen = model.outputs_seen.value
    return np.stack([x.numpy() for x in seen.values])


class Kept(keras.Model):
    """Keeps what its replica's dropout has left."""

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        self.outputs_seen.assign(keras.ops.sum(y_pred, axis=0))
        return super().compute_metrics(x, y, y_pred, sample_weight)


MIRRORED = ("transformer", "keras")
# XLA compiles for long: of float32 the one with most kinds of layers.
TOGETHER = [(name, "float64") for name in MODELS] + [("transformer", "float32")]

if __name__ == "__main__":
    main = work_with_others if "TF_CONFIG" in os.environ else mirror
    main(pathlib.Path(sys.argv[1]))
