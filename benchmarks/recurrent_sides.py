"""One Bahdanau GRU, made by each side of `recurrent.py`."""

import dataclasses

import numpy as np

DECODED = 32


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of the model and of a training batch."""

    batch: int = 64
    embedding: int = 256
    units: int = 512
    vocabulary: int = 8000


def ids(rows, length, sizes):
    """Random ids of sources, targets and labels; 0 is left for padding."""
    shape = (3, rows, length)
    rng = np.random.default_rng(0)
    return rng.integers(1, sizes.vocabulary, size=shape, dtype="int32")


def rows_of(task, sizes):
    """How many rows a task has."""
    return {"decode_1": 1, "decode_32": 32}.get(task, sizes.batch)


def use_threads(threads):
    """Let TensorFlow use so many threads; before anything else is done."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def keras_step(model, inputs, labels, jit_compile=False):
    """Compile, and return a function that trains on one batch."""
    import keras

    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=jit_compile,
    )
    return lambda: model.train_on_batch(inputs, labels)


def ours(task, sizes, length, threads, jit_compile=False):
    """`RNNSeq2Seq`, trained or searched with."""
    use_threads(threads)
    import tensorflow as tf

    from keras_attn.decoding import generate
    from keras_attn.models import RNNSeq2Seq

    model = RNNSeq2Seq(
        sizes.vocabulary,
        sizes.vocabulary,
        units=sizes.units,
        embedding_dim=sizes.embedding,
        bidirectional=True,
        initial_state="backward",
        pad_id=None,
    )
    source, target, labels = ids(rows_of(task, sizes), length, sizes)
    if task == "train":
        inputs = {"source": source, "target": target}
        return keras_step(model, inputs, labels, jit_compile)
    search = tf.function(
        lambda source: generate(
            model, source, max_length=DECODED, start_id=1, end_id=-1
        ),
        autograph=False,
        jit_compile=jit_compile,
    )
    source = tf.constant(source)
    return lambda: search(source).numpy()


def ours_xla(task, sizes, length, threads):
    """The same, compiled."""
    return ours(task, sizes, length, threads, jit_compile=True)


def unrolled(task, sizes, length, threads):
    """Plain Keras layers, and a loop of Python over the target."""
    if task != "train":
        return None
    use_threads(threads)
    import keras
    from keras import layers

    source = keras.Input((length,), dtype="int32", name="source")
    target = keras.Input((length,), dtype="int32", name="target")
    embedded = layers.Embedding(sizes.vocabulary, sizes.embedding)(source)
    memory, _, backward = layers.Bidirectional(
        layers.GRU(sizes.units, return_sequences=True, return_state=True)
    )(embedded)
    state = layers.Dense(sizes.units, "tanh")(backward)
    keys = layers.Dense(sizes.units, use_bias=False)(memory)
    project = layers.Dense(sizes.units, use_bias=False)
    score = layers.Dense(1, use_bias=False)
    cell = layers.GRUCell(sizes.units)
    fed = layers.Embedding(sizes.vocabulary, sizes.embedding)(target)
    outputs = []
    for t in range(length):
        query = keras.ops.expand_dims(project(state), 1)
        weights = keras.ops.softmax(score(keras.ops.tanh(query + keys)), 1)
        context = keras.ops.sum(weights * memory, axis=1)
        x = keras.ops.concatenate([fed[:, t], context], axis=-1)
        state, _ = cell(x, [state])
        outputs.append(state)
    logits = layers.Dense(sizes.vocabulary)(keras.ops.stack(outputs, axis=1))
    model = keras.Model({"source": source, "target": target}, logits)
    source, target, labels = ids(sizes.batch, length, sizes)
    return keras_step(model, {"source": source, "target": target}, labels)


def torch(task, sizes, length, threads):
    """`torch.nn.GRU`, and a loop of Python over `GRUCell`."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    width, vocabulary = sizes.units, sizes.vocabulary

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.source = nn.Embedding(vocabulary, sizes.embedding)
            self.target = nn.Embedding(vocabulary, sizes.embedding)
            self.encoder = nn.GRU(
                sizes.embedding, width, batch_first=True, bidirectional=True
            )
            self.start = nn.Linear(width, width)
            self.key = nn.Linear(2 * width, width, bias=False)
            self.query = nn.Linear(width, width, bias=False)
            self.score = nn.Linear(width, 1, bias=False)
            self.cell = nn.GRUCell(sizes.embedding + 2 * width, width)
            self.logits = nn.Linear(width, vocabulary)

        def read(self, source):
            memory, last = self.encoder(self.source(source))
            return memory, self.key(memory), torch.tanh(self.start(last[1]))

        def step(self, x, state, memory, keys):
            hidden = torch.tanh(self.query(state)[:, None] + keys)
            weights = torch.softmax(self.score(hidden), dim=1)
            context = (weights.transpose(1, 2) @ memory)[:, 0]
            return self.cell(torch.cat([x, context], -1), state)

    model = Model()
    given = ids(rows_of(task, sizes), length, sizes)
    source, target, labels = (torch.tensor(x).long() for x in given)
    optimizer = torch.optim.Adam(model.parameters())

    def train():
        optimizer.zero_grad()
        memory, keys, state = model.read(source)
        fed, outputs = model.target(target), []
        for t in range(length):
            state = model.step(fed[:, t], state, memory, keys)
            outputs.append(state)
        logits = model.logits(torch.stack(outputs, 1))
        nn.functional.cross_entropy(
            logits.reshape(-1, vocabulary), labels.reshape(-1)
        ).backward()
        optimizer.step()

    @torch.no_grad()
    def decode():
        memory, keys, state = model.read(source)
        token = torch.ones(len(source), dtype=torch.long)
        for _ in range(DECODED):
            state = model.step(model.target(token), state, memory, keys)
            token = model.logits(state).argmax(-1)

    return train if task == "train" else decode


SIDES = {
    "ours": ours,
    "ours_xla": ours_xla,
    "unrolled": unrolled,
    "torch": torch,
}
