"""The translators that `bottleneck.py` compares."""

import keras

from keras_attn import layers
from keras_attn import models

# Words on either side of a position that attention sees, about a clause: its
# place among all words of a longer source is what a network that has seen
# short ones cannot find.
HALF_WIDTH = 12

# While training, so that networks do not learn to count words.
DROPOUT = 0.3


def recurrent(*, bidirectional=True, attends=False, reverse=False):
    """A GRU that reads and a GRU that writes."""

    def build(units, num_source, num_target):
        attention = layers.LocalAttention(HALF_WIDTH, alignment="monotonic")
        return models.RNNSeq2Seq(
            num_source,
            num_target,
            cell="gru",
            units=units,
            bidirectional=bidirectional,
            reverse_source=reverse,
            attention=attention if attends else None,
            dropout=DROPOUT,
        )

    return build


def convolution(units, num_source, num_target):
    """Convolutions over the source and, causal, over the target."""
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    embed_source, embed_target = (
        layers.TokenEmbedding(size, units, name=f"{side}_embedding")
        for side, size in (("source", num_source), ("target", num_target))
    )
    real = keras.ops.not_equal(source, 0)
    memory = layers.SinePosition()(embed_source(source))
    x = layers.SinePosition()(embed_target(target)) + 0
    for _ in range(3):
        # Padding is nothing, as what lies beyond the end.
        memory *= keras.ops.cast(real, "float32")[:, :, None]
        memory += keras.layers.Conv1D(
            units, 3, padding="same", activation="relu"
        )(memory)
        x += keras.layers.Conv1D(units, 3, padding="causal", activation="relu")(
            x
        )
    context = layers.DotAttention()(x, memory, value_mask=real)
    both = keras.ops.concatenate([x, context], axis=-1)
    logits = keras.layers.Dense(num_target)(both)
    return keras.Model({"source": source, "target": target}, logits)


def transformer(units, num_source, num_target):
    """Two blocks on either side."""
    return models.Transformer(
        source_vocabulary_size=num_source,
        target_vocabulary_size=num_target,
        num_layers=2,
        num_heads=4,
        units=units,
        hidden_dim=2 * units,
        norm="pre",
        dropout=0.0,
    )


BUILD = {
    "no attention": recurrent(),
    "attention": recurrent(attends=True),
    "convolution": convolution,
    "transformer": transformer,
    "one way": recurrent(bidirectional=False),
    "reversed": recurrent(bidirectional=False, reverse=True),
}
