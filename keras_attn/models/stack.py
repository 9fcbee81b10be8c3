"""Embedding, positions and a number of blocks: half of a Transformer."""

import keras

from keras_attn.blocks.residual import make_normalization
from keras_attn.embeddings.learned_position import LearnedPosition
from keras_attn.embeddings.sine_position import SinePosition
from keras_attn.ops import checks

POSITIONS = ("learned", "sine", None)


class Stack(keras.layers.Layer):
    """Tokens through embedding, positions and blocks.

        x      = dropout(norm(E[tokens] + place))
        output = norm(block(… block(x)))

    where both norms are optional. The encoder and the decoder of a model are
    such stacks; a decoder may go token by token.

    Args:
        embedding: A `TokenEmbedding`.
        blocks: `EncoderBlock`s or `DecoderBlock`s.
        position: "learned", "sine", or None.
        max_length: Positions that are learned.
        position_initializer: Of the positions that are learned.
        first_norm, last_norm: Whether there is a norm before and after the
            blocks.
        dropout: Fraction dropped before the blocks while training.
    """

    def __init__(
        self,
        embedding,
        blocks,
        *,
        position: str | None,
        max_length: int,
        position_initializer="uniform",
        first_norm: bool,
        last_norm: bool,
        dropout: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if position not in POSITIONS:
            raise ValueError(
                f"`position` must be one of {POSITIONS}. Received: "
                f"position={position!r}"
            )
        if not blocks:
            raise ValueError("`num_layers` must be at least 1.")
        own = {"dtype": self.dtype_policy}
        kind, epsilon = blocks[0].normalization, blocks[0].epsilon
        self.embedding = embedding
        self.place = None
        if position == "learned":
            self.place = LearnedPosition(
                max_length, embeddings_initializer=position_initializer, **own
            )
        elif position == "sine":
            self.place = SinePosition(**own)
        self.first_norm = self.last_norm = None
        if first_norm:
            self.first_norm = make_normalization(kind, epsilon, **own)
        if last_norm:
            self.last_norm = make_normalization(kind, epsilon, **own)
        self.drop = keras.layers.Dropout(dropout, **own)
        self.blocks = list(blocks)
        self.supports_masking = True

    def build(self, tokens_shape, memory_shape=None, added_shape=None):
        if not self.embedding.built:
            self.embedding.build(tokens_shape)
        shape = (*tokens_shape, self.embedding.units)
        for layer in (self.place, self.first_norm, self.last_norm):
            if layer is not None:
                layer.build(shape)
        memory = () if memory_shape is None else (memory_shape,)
        for block in self.blocks:
            block.build(shape, *memory)

    def call(
        self,
        tokens,
        memory=None,
        added=None,
        *,
        memory_mask=None,
        training=None,
        **options,
    ):
        mask = self.compute_mask(tokens)
        x = self.drop(self._embed(tokens, added=added), training=training)
        if memory is not None:
            options.update(memory=memory, memory_mask=memory_mask)
        for block in self.blocks:
            x = block(x, mask=mask, training=training, **options)
        return self._finish(x)

    def compute_mask(self, tokens, *others):
        """True where a token is not padding."""
        return self.embedding.compute_mask(tokens)

    def compute_output_spec(self, tokens, *others, **options):
        """Describe what `call` returns.

        Keras would trace all blocks to find out, half a second for each.
        """
        shape = (*tokens.shape, self.embedding.units)
        return keras.KerasTensor(shape, self.compute_dtype)

    def check_room(self, lengths):
        """Refuse sequences that are longer than the positions learned.

        Before the first step, because the steps go on for rows that have
        ended, and because a compiled step cannot fail.

        Args:
            lengths: What the sequences may grow to: (rows,), or a number.
        """
        if isinstance(self.place, LearnedPosition):
            checks.at_most(
                lengths,
                self.place.max_length,
                f"The model has learned {self.place.max_length} positions, "
                "and the prompt with the tokens that may follow it is longer. "
                "Shorten the prompt, or lower `max_length`.",
            )

    def prefill(self, tokens, lengths, max_length: int):
        """Read prompts at once; see `DecoderBlock.prefill`.

        Args:
            tokens: (rows, prompt) ids.
            lengths: (rows,) integers.
            max_length: How many tokens may follow.

        Returns:
            (rows, prompt, features) output, and the caches, one for each
            block.
        """
        x, caches = self._embed(tokens), []
        for block in self.blocks:
            x, cache = block.prefill(x, lengths, max_length)
            caches.append(cache)
        return self._finish(x), caches

    def empty_caches(self, rows, max_length: int):
        """Caches to start from, one for each block."""
        return [
            block.self_attention.empty_cache(rows, max_length)
            for block in self.blocks
        ]

    def step(self, token, caches, positions, memories=None, memory_mask=None):
        """Go on by one token.

        Args:
            token: (rows,) ids.
            caches: One for each block.
            positions: (rows,) integers, where the tokens stand.
            memories: For each block what its `remember` returned, or None.
            memory_mask: (rows, source) booleans.

        Returns:
            (rows, features) output, the caches, and the last block's weights
            of cross-attention, (rows, heads, 1, source), or None.
        """
        x = self._embed(token[:, None], positions[:, None])
        memories = memories or [None] * len(self.blocks)
        kept = []
        for block, cache, memory in zip(
            self.blocks, caches, memories, strict=True
        ):
            x, cache, weights = block.step(
                x, cache, positions, memory, memory_mask
            )
            kept.append(cache)
        return self._finish(x)[:, 0], kept, weights

    def _embed(self, tokens, positions=None, added=None):
        x = self.embedding(tokens)
        if self.place is not None:
            x = self.place(x, positions)
        if added is not None:
            x += added
        return x if self.first_norm is None else self.first_norm(x)

    def _finish(self, x):
        return x if self.last_norm is None else self.last_norm(x)
