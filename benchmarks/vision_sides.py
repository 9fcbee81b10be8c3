"""One ViT, made by each side of `vision.py`."""

import dataclasses
import functools
import os
import pathlib
import tempfile

import numpy as np

CLASSES = 1000


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of a model.

    Args:
        preset: Of our `ViT`; the other numbers are those of the preset.
        batch: Rows of a training batch.
    """

    preset: str
    units: int
    num_heads: int
    batch: int
    num_layers: int = 12
    patch: int = 16


MODELS = {
    "s16": Sizes("s16", 384, 6, batch=8),
    "b16": Sizes("b16", 768, 12, batch=4),
    # For `--quick`.
    "tiny": Sizes("s16", 16, 2, batch=2, num_layers=2),
}


def rows_of(task, sizes):
    """How many images a task has: "train", or "predict_8" for eight."""
    return sizes.batch if task == "train" else int(task.split("_")[1])


def images_and_labels(rows, pixels):
    """Random images (rows, pixels, pixels, 3) from 0 to 1, and classes."""
    rng = np.random.default_rng(0)
    images = rng.uniform(size=(rows, pixels, pixels, 3)).astype("float32")
    return images, rng.integers(CLASSES, size=rows)


def keras_step(model, task, sizes, pixels, xla):
    """A function that trains on one batch, or predicts it."""
    import keras

    images, labels = images_and_labels(rows_of(task, sizes), pixels)
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=xla,
    )
    if task == "train":
        return lambda: model.train_on_batch(images, labels)
    return lambda: model.predict_on_batch(images)


def our_model(sizes, pixels):
    """`ViT`, in the sizes of its preset unless they are tiny."""
    from keras_attn import models

    return models.ViT.from_preset(
        sizes.preset,
        image_size=pixels,
        units=sizes.units,
        num_heads=sizes.num_heads,
        num_layers=sizes.num_layers,
        hidden_dim=4 * sizes.units,
        num_classes=CLASSES,
    )


def ours(task, sizes, pixels, *, xla=False):
    """`ViT`."""
    return keras_step(our_model(sizes, pixels), task, sizes, pixels, xla)


def keras_hub(task, sizes, pixels, *, xla=False):
    """KerasHub's classifier on its backbone."""
    import keras_hub

    backbone = keras_hub.models.ViTBackbone(
        image_shape=(pixels, pixels, 3),
        patch_size=sizes.patch,
        num_layers=sizes.num_layers,
        num_heads=sizes.num_heads,
        hidden_dim=sizes.units,
        mlp_dim=4 * sizes.units,
    )
    model = keras_hub.models.ViTImageClassifier(backbone, num_classes=CLASSES)
    return keras_step(model, task, sizes, pixels, xla)


def plain(task, sizes, pixels, *, xla=False):
    """Keras' own layers, as its users write them."""
    import keras
    from keras import layers

    class Tokens(layers.Layer):
        """Puts a class token before the patches, and adds positions."""

        def build(self, shape):
            size = (shape[1] + 1, shape[2])
            self.token = self.add_weight(shape=(1, 1, shape[2]))
            self.positions = self.add_weight(shape=(1, *size))

        def call(self, x):
            shape = (keras.ops.shape(x)[0], 1, x.shape[-1])
            token = keras.ops.broadcast_to(self.token, shape)
            x = keras.ops.concatenate([token, x], axis=1)
            return x + self.positions

    image = keras.Input((pixels, pixels, 3))
    x = layers.Conv2D(sizes.units, sizes.patch, strides=sizes.patch)(image)
    x = Tokens()(layers.Reshape((-1, sizes.units))(x))
    for _ in range(sizes.num_layers):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        depth = sizes.units // sizes.num_heads
        x += layers.MultiHeadAttention(sizes.num_heads, depth)(y, y)
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        y = layers.Dense(4 * sizes.units, activation="gelu")(y)
        x += layers.Dense(sizes.units)(y)
    x = layers.LayerNormalization(epsilon=1e-6)(x)[:, 0]
    model = keras.Model(image, layers.Dense(CLASSES)(x))
    return keras_step(model, task, sizes, pixels, xla)


def torch(task, sizes, pixels):
    """Hugging Face's ViT."""
    import torch
    import transformers

    torch.set_num_threads(os.cpu_count())
    config = transformers.ViTConfig(
        hidden_size=sizes.units,
        num_hidden_layers=sizes.num_layers,
        num_attention_heads=sizes.num_heads,
        intermediate_size=4 * sizes.units,
        image_size=pixels,
        patch_size=sizes.patch,
        num_labels=CLASSES,
    )
    model = transformers.ViTForImageClassification(config)
    images, labels = images_and_labels(rows_of(task, sizes), pixels)
    images = torch.tensor(images.transpose(0, 3, 1, 2).copy())
    labels = torch.tensor(labels)
    optimizer = torch.optim.Adam(model.parameters())

    def train():
        optimizer.zero_grad()
        logits = model(images).logits
        torch.nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()

    @torch.inference_mode()
    def predict():
        return model(images).logits.numpy()

    if task == "train":
        model.train()
        return train
    model.eval()
    return predict


def products(task, sizes, pixels):
    """The matrix products of the blocks alone: what no ViT can do without."""
    import tensorflow as tf

    rows, units = rows_of(task, sizes), sizes.units
    tokens = (pixels // sizes.patch) ** 2 + 1
    widths = (units, 3 * units), (units,) * 2, (units, 4 * units)
    widths = (*widths, (4 * units, units))
    heads = (rows, sizes.num_heads, tokens, units // sizes.num_heads)
    # Each block has tensors of its own: equal products would be made once.
    blocks = [
        (
            [tf.random.normal((rows * tokens, x)) for x, _ in widths],
            [tf.random.normal(shape) for shape in widths],
            [tf.random.normal(heads) for _ in "qkv"],
        )
        for _ in range(sizes.num_layers)
    ]

    @tf.function(autograph=False)
    def run(blocks):
        made = []
        for inputs, kernels, (query, key, value) in blocks:
            for x, kernel in zip(inputs, kernels, strict=True):
                y = tf.matmul(x, kernel)
                made.append(y)
                if task == "train":
                    made.append(tf.matmul(y, kernel, transpose_b=True))
                    made.append(tf.matmul(x, y, transpose_a=True))
            weights = tf.matmul(query, key, transpose_b=True)
            output = tf.matmul(weights, value)
            made.append(output)
            if task == "train":
                slopes = tf.matmul(output, value, transpose_b=True)
                made.append(tf.matmul(weights, output, transpose_a=True))
                made.append(tf.matmul(slopes, key))
                made.append(tf.matmul(slopes, query, transpose_a=True))
        # A number of each, or TensorFlow would leave them out.
        return tf.add_n([tf.reshape(each, [-1])[0] for each in made])

    return lambda: run(blocks).numpy()


def served_seconds(task, sizes, pixels, *, from_bytes, rounds):
    """Best seconds of our exported model in TensorFlow's C++ session.

    The session is in a process without Python TensorFlow, with XLA off, as TF
    Serving starts by default.

    Args:
        task, sizes, pixels: As for the sides.
        from_bytes: Whether requests are PNG files and not pixels.
        rounds: Requests; the first one does not count.
    """
    import tensorflow as tf

    from keras_attn.export.exporting import export_model
    from keras_attn.export.loader import loaded_model
    from keras_attn.export.loader import worker

    images, _ = images_and_labels(rows_of(task, sizes), pixels)
    with tempfile.TemporaryDirectory() as folder:
        version = export_model(
            our_model(sizes, pixels),
            pathlib.Path(folder) / "vit",
            warmup=False,
            verify=False,
            verbose=False,
        )
        signatures = loaded_model.read_signatures(
            loaded_model.read_graph(version)
        )
        verb, values = "predict", images
        if from_bytes:
            verb = "classify"
            files = [
                tf.io.encode_png(np.rint(255 * image).astype("uint8")).numpy()
                for image in images
            ]
            values = np.array(files, object)
        (name,) = signatures[verb]["inputs"]
        request = loaded_model.request(signatures, verb, {name: values})
        answers = worker.run_each(version, [request] * rounds)
    return min(answer["seconds"] for answer in answers[1:])


# Those on Keras once without XLA and once with it.
XLA = ", XLA"
SIDES = {
    "ours": ours,
    "KerasHub": keras_hub,
    "Keras": plain,
    f"ours{XLA}": functools.partial(ours, xla=True),
    f"KerasHub{XLA}": functools.partial(keras_hub, xla=True),
    f"Keras{XLA}": functools.partial(plain, xla=True),
    "torch": torch,
    "products": products,
}
# Those whose memory is compared.
MEASURED = ("ours", "KerasHub", "Keras", "torch")
# They share TensorFlow's threads; torch has its own, which would be in the way.
TOGETHER = tuple(side for side in SIDES if side != "torch")
# Of the same model, whether requests are bytes.
SERVED = {"C++, pixels": False, "C++, bytes": True}
