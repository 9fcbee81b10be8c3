"""The encoder-decoder Transformer."""

from typing import ClassVar

import keras
from keras import ops

from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models import prompts
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.make_stack import make_stack
from keras_attn.models.transformer import from_bart
from keras_attn.models.transformer.presets import PRESETS


@keras.saving.register_keras_serializable(package="keras_attn")
class Transformer(EncoderDecoder):
    """Reads a source, and scores the next token at each position of a target.

        memory = encoder(√units · E[source] + position)
        y      = decoder(√units · E[target] + position, memory)    causal
        logits = E y

    Args:
        vocabulary_size: Number of ids, if source and target share one
            vocabulary and one matrix E.
        source_vocabulary_size, target_vocabulary_size: If they do not.
        num_layers, num_heads, units, hidden_dim: Sizes of both stacks;
            `units` features, `hidden_dim` four times that if not given.
        num_decoder_layers: If the decoder is not as deep as the encoder.
        position: "sine", "learned", or None where `attention` brings a
            modifier such as `Rotary` instead.
        max_length: Positions, if they are learned.
        norm, normalization, epsilon, activation, use_bias: Of the blocks.
        final_norm: Whether each stack ends in a norm; None means only if
            `norm` is "pre", which needs it.
        dropout: Fraction dropped while training.
        attention: Further arguments of every `MultiHeadAttention`.
        scale_embedding: Whether E is multiplied by √units on the way in.
        embedding_norm: Whether each stack begins with a norm, as in BART.
        pad_id: The id that is padding; None if none is.
        forced_end_id: What `generate` puts last where a text is cut off, as
            BART does; None for nothing.

    Call arguments:
        inputs: `{"source": (batch, source), "target": (batch, target)}` ids,
            ragged or dense.

    Returns:
        (batch, target, vocabulary) logits.

    Reference:
        Vaswani et al. 2017. https://arxiv.org/abs/1706.03762
    """

    presets = PRESETS
    readers: ClassVar = {"bart": from_bart.read}

    def __init__(
        self,
        vocabulary_size: int | None = None,
        *,
        source_vocabulary_size: int | None = None,
        target_vocabulary_size: int | None = None,
        num_layers: int = 6,
        num_heads: int = 8,
        units: int = 512,
        hidden_dim: int | None = None,
        num_decoder_layers: int | None = None,
        position: str | None = "sine",
        max_length: int = 1024,
        norm: str = "post",
        normalization: str = "layer",
        epsilon: float = 1e-5,
        activation="relu",
        use_bias: bool = True,
        final_norm: bool | None = None,
        dropout: float = 0.1,
        attention: dict | None = None,
        scale_embedding: bool = True,
        embedding_norm: bool = False,
        pad_id: int | None = 0,
        forced_end_id: int | None = None,
        dtype=None,
        **kwargs,
    ):
        block = dict(
            num_heads=num_heads,
            hidden_dim=hidden_dim or 4 * units,
            norm=norm,
            normalization=normalization,
            epsilon=epsilon,
            activation=activation,
            use_bias=use_bias,
            dropout=dropout,
            attention=attention,
        )
        source_embedding, target_embedding = _make_embeddings(
            vocabulary_size,
            source_vocabulary_size,
            target_vocabulary_size,
            units=units,
            scale=scale_embedding,
            pad_id=pad_id,
            dtype=dtype,
        )
        both = dict(
            position=position,
            max_length=max_length,
            first_norm=embedding_norm,
            last_norm=norm == "pre" if final_norm is None else final_norm,
            dropout=dropout,
            dtype=dtype,
        )
        encoder = make_stack(
            EncoderBlock, num_layers, block, name="encoder", **both
        )
        decoder = make_stack(
            DecoderBlock,
            num_decoder_layers or num_layers,
            block,
            name="decoder",
            **both,
        )
        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        memory = encoder(source_embedding(source))
        x = decoder(target_embedding(target), memory)
        logits = target_embedding(x, reverse=True)
        inputs = {"source": source, "target": target}
        super().__init__(inputs, logits, dtype=dtype, **kwargs)
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.forced_end_id = forced_end_id

    def memory(self, source):
        """Return the memory of (rows, source) ids: (rows, source, units)."""
        return self.encoder(self.source_embedding(source))

    def read(self, inputs):
        """Read sources.

        Args:
            inputs: (rows, source) ids, ragged or dense; or `{"source": …}`, of
                which "memory" may hold what `memory` makes of them.

        Returns:
            (rows, source, units) memory, and its (rows, source) padding mask
            or None.
        """
        inputs = inputs if isinstance(inputs, dict) else {"source": inputs}
        source = prompts.as_rows(inputs["source"], self.config["pad_id"])
        source = ops.convert_to_tensor(source)
        memory = inputs.get("memory")
        if memory is None:
            memory = self.memory(source)
        return memory, self.source_embedding.compute_mask(source)


def _make_embeddings(size, source_size, target_size, **options):
    """One embedding twice, or two."""
    two = source_size is not None and target_size is not None
    if (size is None) != two or (source_size is None) != (target_size is None):
        raise ValueError(
            "Give `vocabulary_size` for one vocabulary, or both "
            "`source_vocabulary_size` and `target_vocabulary_size` for two. "
            f"Received: vocabulary_size={size}, source_vocabulary_size="
            f"{source_size}, target_vocabulary_size={target_size}"
        )
    if not two:
        embedding = TokenEmbedding(size, name="embedding", **options)
        return embedding, embedding
    return (
        TokenEmbedding(source_size, name="source_embedding", **options),
        TokenEmbedding(target_size, name="target_embedding", **options),
    )
