"""The translators that `bottleneck.py` compares."""

import keras

from keras_attn import layers
from keras_attn import models

DROPOUT = 0.1

# A decoder that is wrong about its state now and then cannot count on it, and
# so cannot count clauses with it: six are more than it has learned to count.
STATE_DROPOUT = 0.2

# How many numbers tell of a word's neighbours: enough for what kind of words
# they are, too few for which. Attention to a noun shall not tell its adjective.
NEAR = 8


def recurrent(*, bidirectional=True, reverse=False):
    """A GRU that reads and a GRU that writes."""

    def build(units, num_source, num_target):
        return models.RNNSeq2Seq(
            num_source,
            num_target,
            cell="gru",
            units=units,
            bidirectional=bidirectional,
            reverse_source=reverse,
            attention=None,
            dropout=DROPOUT,
        )

    return build


def attending(units, num_source, num_target):
    """A GRU that writes and, at each step, attends to the source.

    A network that reads short sources learns to count their clauses, from both
    ends, and is lost in longer ones. So a word is known here by itself and by
    its neighbours, and attention is told where it was.
    """
    words = keras.Input((None, units))
    near = layers.MaskedConvolution(NEAR, 5)(words)
    memory = keras.layers.Concatenate()([words, near])
    memory = keras.layers.Dropout(DROPOUT)(memory)
    mean = keras.layers.GlobalAveragePooling1D()(words)
    return models.RNNSeq2Seq(
        num_source,
        num_target,
        cell="gru",
        units=units,
        encoder=keras.Model(words, [memory, mean]),
        attention=layers.LocationSensitiveAttention(units // 2, filters=8),
        readout="maxout",
        dropout=DROPOUT,
        state_dropout=STATE_DROPOUT,
    )


def convolution(units, num_source, num_target):
    """Convolutions over the source and, causal, over the target."""
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    embed_source, embed_target = (
        layers.TokenEmbedding(size, units, name=f"{side}_embedding")
        for side, size in (("source", num_source), ("target", num_target))
    )
    memory = layers.SinePosition()(embed_source(source))
    x = layers.SinePosition()(embed_target(target)) + 0
    for _ in range(3):
        near = layers.MaskedConvolution(units, 3)(memory)
        memory = keras.layers.Add()([memory, near])
        x += keras.layers.Conv1D(units, 3, padding="causal", activation="relu")(
            x
        )
    context = layers.DotAttention()(x, memory)
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
    "attention": attending,
    "convolution": convolution,
    "transformer": transformer,
    "one way": recurrent(bidirectional=False),
    "reversed": recurrent(bidirectional=False, reverse=True),
}
