"""The encoder-decoder Transformer."""

from typing import ClassVar

import keras
from keras import ops

from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models import prompts
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.logits_bias import LogitsBias
from keras_attn.models.make_stack import make_stack
from keras_attn.models.transformer import from_bart
from keras_attn.models.transformer import from_marian
from keras_attn.models.transformer import from_t5
from keras_attn.models.transformer.presets import PRESETS
from keras_attn.modifiers.relative_bias import RelativeBias


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
        position: "sine", "split_sine" (all sines, then all cosines),
            "learned", or None where `attention` brings a modifier such as
            `Rotary` instead, or there is a `relative_bias`.
        max_length: Positions, if they are learned.
        norm, normalization, epsilon, activation, use_bias: Of the blocks.
        final_norm: Whether each stack ends in a norm; None means unless
            `norm` is "post", which needs none.
        dropout: Fraction dropped while training.
        attention: Further arguments of every `MultiHeadAttention`.
        scale_embedding: Whether E is multiplied by √units on the way in.
        embedding_norm: Whether each stack begins with a norm, as in BART.
        relative_bias: Arguments of `RelativeBias`, such as `{}`: in each
            stack one for the self-attention of all layers, as in T5.
        tie_embeddings: Whether E is the matrix of the logits as well.
        scale_logits: Whether the logits are divided by √units.
        logits_bias: Whether a learned number is added to each logit.
        pad_id: The id that is padding; None if none is.
        pad_starts: Whether targets begin with `pad_id`, which then counts.
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
    readers: ClassVar = {
        "bart": from_bart.read,
        "marian": from_marian.read,
        "t5": from_t5.read,
    }

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
        relative_bias: dict | None = None,
        tie_embeddings: bool = True,
        scale_logits: bool = False,
        logits_bias: bool = False,
        pad_id: int | None = 0,
        pad_starts: bool = False,
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
            last_norm=norm != "post" if final_norm is None else final_norm,
            dropout=dropout,
            dtype=dtype,
        )
        encoder = make_stack(
            EncoderBlock,
            num_layers,
            block,
            shared_modifiers=_biases(relative_bias, bidirectional=True),
            name="encoder",
            **both,
        )
        decoder = make_stack(
            DecoderBlock,
            num_decoder_layers or num_layers,
            block,
            shared_modifiers=_biases(relative_bias, bidirectional=False),
            first_counts=pad_starts,
            name="decoder",
            **both,
        )
        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        memory = encoder(source_embedding(source))
        x = decoder(target_embedding(target), memory)
        scale = project = bias = None
        if scale_logits:
            scale = keras.layers.Rescaling(units**-0.5, dtype=dtype)
        if not tie_embeddings:
            size = target_embedding.vocabulary_size
            project = keras.layers.Dense(
                size, use_bias=False, name="logits", dtype=dtype
            )
        if logits_bias:
            bias = LogitsBias(name="logits_bias", dtype=dtype)
        logits = _score(x, scale, project or target_embedding, bias)
        inputs = {"source": source, "target": target}
        super().__init__(inputs, logits, dtype=dtype, **kwargs)
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.logits_scale = scale
        self.project = project
        self.logits_bias = bias
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

    def _logits(self, x):
        project = self.project or self.target_embedding
        return _score(x, self.logits_scale, project, self.logits_bias)


def _score(x, scale, project, bias):
    """Make logits of the decoder's output, layer by layer."""
    if scale is not None:
        x = scale(x)
    is_embedding = isinstance(project, TokenEmbedding)
    logits = project(x, reverse=True) if is_embedding else project(x)
    return logits if bias is None else bias(logits)


def _biases(relative_bias, *, bidirectional):
    """What the layers of a stack share."""
    if relative_bias is None:
        return ()
    return [RelativeBias(**relative_bias, bidirectional=bidirectional)]


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
