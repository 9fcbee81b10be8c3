"""Positions and a number of blocks: half of a Transformer."""

import keras
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.base.state import State
from keras_attn.blocks.fresh_config import unshared
from keras_attn.blocks.residual import make_normalization
from keras_attn.blocks.residual import normalized
from keras_attn.embeddings.learned_position import LearnedPosition
from keras_attn.embeddings.named_position import make_position
from keras_attn.modifiers import registry
from keras_attn.ops import checks
from keras_attn.ops import masks
from keras_attn.ops.positions import positions_in_segments


@keras.saving.register_keras_serializable(package="keras_attn")
class Stack(Layer):
    """Vectors through positions and blocks.

        x      = dropout(norm(inputs + position))
        output = norm(block(… block(x)))

    where both norms are optional. The encoder and the decoder of a model are
    such stacks; a decoder may go token by token.

    Args:
        blocks: `EncoderBlock`s or `DecoderBlock`s, or their configs.
        position: "learned", "sine", "split_sine" (all sines, then all
            cosines), or None.
        max_length, position_initializer: Of positions that are learned.
        first_norm, last_norm: Whether there is a norm before and after the
            blocks.
        dropout: Fraction dropped before the blocks while training.
        shared_modifiers: Modifiers, configs or names: what all blocks'
            self-attention has in common, weights included.
        first_counts: Whether the first vector of a row counts, even if its
            mask says that it is padding.

    Call arguments:
        inputs: (batch, length, features).
        memory: (batch, source, memory_features) for decoders, or None.
        added: (batch, length, features) more to add before the first norm.
        segments: (batch, length) integers of documents packed into a row:
            each is read as if it were alone, from position 0; 0 is padding.
        mask, memory_mask: (batch, length) and (batch, source) padding masks;
            filled in by Keras.
        training: Whether anything is dropped.
        return_attention_scores: Whether to return the weights as well.

    Returns:
        (batch, length, features), then a list of each block's weights if
        asked for: (batch, heads, length, length), or (batch, heads, length,
        source) if there is a memory.
    """

    def __init__(
        self,
        blocks,
        *,
        position: str | None = None,
        max_length: int | None = None,
        position_initializer="uniform",
        first_norm: bool = False,
        last_norm: bool = False,
        dropout: float = 0.0,
        shared_modifiers=(),
        first_counts: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not blocks:
            raise ValueError("`num_layers` must be at least 1.")
        own = {"dtype": self.dtype_policy}
        self.blocks = [as_block(block) for block in blocks]
        self.position = position
        self.max_length = max_length
        self.position_initializer = keras.initializers.get(position_initializer)
        self.dropout = dropout
        self.shared_modifiers = [registry.get(x) for x in shared_modifiers]
        for block in self.blocks:
            block.share(self.shared_modifiers)
        self.first_counts = first_counts
        self.position_embedding = make_position(
            position,
            max_length=max_length,
            initializer=self.position_initializer,
            **own,
        )
        first = self.blocks[0]
        norm = {"kind": first.normalization, "epsilon": first.epsilon, **own}
        self.first_norm = make_normalization(**norm) if first_norm else None
        self.last_norm = make_normalization(**norm) if last_norm else None
        self.drop = keras.layers.Dropout(dropout, **own)
        self.supports_masking = True

    def build(self, inputs_shape, memory_shape=None, added_shape=None):
        for layer in (self.position_embedding, self.first_norm, self.last_norm):
            if layer is not None:
                layer.build(inputs_shape)
        memory = () if memory_shape is None else (memory_shape,)
        for block in self.blocks:
            # A block comes back from its config already built.
            if not block.built:
                block.build(inputs_shape, *memory)

    def call(
        self,
        inputs,
        memory=None,
        added=None,
        *,
        segments=None,
        mask=None,
        inputs_mask=None,
        memory_mask=None,
        training=None,
        return_attention_scores=False,
    ):
        # Keras fills in `mask` if a layer is called with one tensor only, and
        # `inputs_mask` if there are more.
        mask = self.compute_mask(inputs, inputs_mask if mask is None else mask)
        options, positions = {"training": training}, None
        options["return_attention_scores"] = return_attention_scores
        if segments is not None:
            segments = ops.convert_to_tensor(segments)
            mask = masks.combine(mask, segments != 0)
            positions = positions_in_segments(segments)
            options |= {"segments": segments}
        if memory is not None:
            options |= {"memory": memory, "memory_mask": memory_mask}
        inputs = masks.zero_padding(inputs, mask, "mask")
        x = self._begin(inputs, positions, added, mask, training)
        x = self.drop(x, training=training)
        weights = []
        for block in self.blocks:
            x = block(x, mask=mask, **options)
            if return_attention_scores:
                x, *_, last = x
                weights.append(last)
        x = self._finish(x, mask, training)
        return (x, weights) if return_attention_scores else x

    def compute_mask(self, inputs, previous_mask):
        """The mask of the inputs, with what counts in any case."""
        counts = self.first_counts
        return masks.with_first(previous_mask) if counts else previous_mask

    def compute_output_spec(self, inputs, *others, **options):
        """Describe what `call` returns.

        Keras would trace all blocks to find out, half a second for each.
        """
        if options.get("return_attention_scores"):
            return super().compute_output_spec(inputs, *others, **options)
        return keras.KerasTensor(inputs.shape, self.compute_dtype)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        blocks = unshared(list(self.blocks))
        # Blocks that come back built have no room for modifiers any more.
        for block in blocks if self.shared_modifiers else ():
            block.pop("build_config", None)
        return {
            **super().get_config(),
            "blocks": blocks,
            "position": self.position,
            "max_length": self.max_length,
            "position_initializer": serialize(self.position_initializer),
            "first_norm": self.first_norm is not None,
            "last_norm": self.last_norm is not None,
            "dropout": self.dropout,
            "shared_modifiers": unshared(list(self.shared_modifiers)),
            "first_counts": self.first_counts,
        }

    def check_room(self, lengths):
        """Refuse sequences that are longer than the positions learned.

        Before the first step, because the steps go on for rows that have
        ended, and because a compiled step cannot fail.

        Args:
            lengths: What the sequences may grow to: (rows,), or a number.
        """
        if isinstance(self.position_embedding, LearnedPosition):
            most = self.position_embedding.max_length
            checks.at_most(
                lengths,
                most,
                f"The model has learned {most} positions, and the prompt "
                "with the tokens that may follow it is longer. Shorten the "
                "prompt, or lower `max_length`.",
            )

    def prefill(self, inputs, lengths, max_length: int):
        """Read prompts at once; see `DecoderBlock.prefill`.

        Args:
            inputs: (rows, prompt, features).
            lengths: (rows,) integers.
            max_length: How many tokens may follow.

        Returns:
            (rows, prompt, features) output, and the caches: a `State` of
            lists, with one entry for each block.
        """
        x, caches = self._begin(inputs), []
        for block in self.blocks:
            x, cache = block.prefill(x, lengths, max_length)
            caches.append(cache)
        return self._finish(x), _side_by_side(caches)

    def empty_caches(self, rows, max_length: int):
        """Caches to start from, as `prefill` gives them."""
        return _side_by_side(
            [
                block.self_attention.empty_cache(rows, max_length)
                for block in self.blocks
            ]
        )

    def alignment(
        self, inputs, memory, *, mask=None, memory_mask=None, layer: int = -1
    ):
        """Weights of one block's cross-attention, for a whole target.

        Args:
            inputs, memory, mask, memory_mask: As for `call`.
            layer: Which block; the last if not given.

        Returns:
            (rows, heads, target, source).
        """
        options = {"memory": memory, "mask": mask, "memory_mask": memory_mask}
        x = self._begin(inputs)
        for block in self.blocks[:layer]:
            x = block(x, **options)
        block = self.blocks[layer]
        return block(x, **options, return_attention_scores=True)[-1]

    def step(self, inputs, caches, positions, memories=None):
        """Go on by one token.

        Args:
            inputs: (rows, features), the vectors of the newest tokens.
            caches: What `prefill`, `empty_caches` or the last `step` returned.
            positions: (rows,) integers, where the tokens stand.
            memories: For each block what its `project_memory` returned; or
                None.

        Returns:
            (rows, features) output, the caches, and the last block's weights
            of cross-attention, (rows, heads, 1, source), or None.
        """
        x = self._begin(inputs[:, None], positions[:, None])[:, 0]
        memories = memories or [None] * len(self.blocks)
        kept, indexes = [], {}
        for block, carried, constant, memory in zip(
            self.blocks, *caches, memories, strict=True
        ):
            cache = State(carried, constant)
            attention = block.self_attention
            alike = attention.sliding_window, attention.compute_dtype
            if alike not in indexes:
                indexes[alike] = attention.step_index(cache, positions)
            x, cache, weights = block.step(
                x, cache, positions, memory, index=indexes[alike]
            )
            kept.append(cache)
        return self._finish(x), _side_by_side(kept), weights

    def _begin(self, x, positions=None, added=None, mask=None, training=None):
        if self.position_embedding is not None:
            x = self.position_embedding(x, positions)
        if added is not None:
            x += added
        if self.first_norm is not None:
            x = normalized(self.first_norm, x, mask, training)
        return x

    def _finish(self, x, mask=None, training=None):
        if self.last_norm is not None:
            x = normalized(self.last_norm, x, mask, training)
        # Blocks that were handed over may compute in another dtype.
        return ops.cast(x, self.compute_dtype)


def _side_by_side(states):
    """Make one state of one for each block."""
    return State(*map(list, zip(*states, strict=True)))


def as_block(block):
    """Take a block as it is, or make it of its config."""
    if isinstance(block, keras.layers.Layer):
        return block
    return keras.saving.deserialize_keras_object(block)
