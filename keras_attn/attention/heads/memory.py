"""A memory: keys and values projected once, to be attended to many times."""

import math

from keras import ops

from keras_attn.attention.heads.keras_names import KerasNames
from keras_attn.attention.heads.projecting import output_rows
from keras_attn.attention.heads.projecting import project_rows
from keras_attn.ops import masks
from keras_attn.ops.dense import KeyValueBlock
from keras_attn.ops.dense import block_attention
from keras_attn.ops.scores import Rules


class MemoryAttention(KerasNames):
    """Multi-head attention from a few queries to keys that are ready.

        memory = (W_k h, W_v h)                       once
        output = W_o attention(W_q q, memory)         many times

    as for cross-attention, step by step.
    """

    def project_memory(self, value, key=None, *, mask=None) -> dict:
        """Project keys and values once, for `attend_memory`.

        Args:
            value: (rows, key, value_features).
            key: (rows, key, key_features); `value` if not given.
            mask: (rows, key) booleans, False for padding, which may hold
                anything, NaN too; or None.

        Returns:
            The memory: "key" and "value", (rows, kv_heads, key, depth), and
            the "mask" if there is one.
        """
        value, key, mask = clean_memory(self, value, key, mask)
        self._axes.check_sequences("a memory")
        value, key = self.value_dense(value), self.key_dense(key)
        for modifier in self.modifiers:
            key = modifier.key_heads(key, masks.from_start(key))
        return pack_memory(heads_first(key), heads_first(value), mask)

    def attend_memory(
        self,
        query,
        memory,
        *,
        query_positions=None,
        query_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        use_causal_mask=False,
        training=None,
    ):
        """Attend to a memory, as `call` does to what it was made of.

        For few queries at a time: it forms the (query, key) matrix.

        Args:
            query: (rows, query, features).
            memory: What `project_memory` returned.
            query_positions: (rows or 1, query) integers, where the queries
                stand if they do not count from 0.
            query_mask, attention_mask, return_attention_scores,
                use_causal_mask, training: As for `call`.

        Returns:
            As `call`.
        """
        self.refuse_override("attend_memory")
        query = ops.cast(query, self.compute_dtype)
        query = masks.zero_padding(query, query_mask)
        rows = ops.reshape(query, (-1, query.shape[-1]))
        (heads,) = project_rows(rows, [self.query_dense])
        # A step's length is known: no ops for its shape.
        axes = (-1, 1) if query.shape[1] == 1 else ops.shape(query)[:2]
        heads = ops.reshape(heads, (*axes, self.num_heads, self.key_dim))
        if query_positions is None:
            query_positions = masks.from_start(query)
        query_positions = ops.cast(query_positions, "int32")
        for modifier in self.modifiers:
            heads = modifier.query_heads(heads, query_positions)
        key, value = memory["key"], memory["value"]
        mask = memory.get("mask")
        if attention_mask is not None:
            mask = masks.for_attention(
                value_mask=mask, attention_mask=attention_mask
            )
            mask = mask if len(mask.shape) == 4 else mask[:, None]
        elif mask is not None:
            mask = mask[:, None, None]  # (rows, 1, 1, key)
        positions = ops.arange(ops.shape(key)[2], dtype="int32")[None]
        output, weights = self.attend_blocks(
            heads_first(heads),
            [KeyValueBlock(key, value, positions, mask)],
            query_positions,
            window=self.sliding_window,
            causal=use_causal_mask,
            training=training,
        )
        output = masks.zero_padding(heads_first(output), query_mask)
        output = self.project_output(output, query)
        if not return_attention_scores:
            return output
        return output, masks.zero_padding(weights, query_mask, axis=2)

    def attend_blocks(
        self,
        query,
        blocks,
        query_positions,
        *,
        exclusion=None,
        window=None,
        causal=False,
        training=None,
    ):
        """Attend to keys that are ready, as the layer's arguments say.

        Args:
            query, blocks, query_positions, exclusion: As for
                `block_attention`.
            window, causal: As for `ops.attention`.
            training: Whether weights are dropped.

        Returns:
            (rows, heads, query, depth) output, and the weights.
        """
        dropout = self.dropout if training else 0.0
        rules = Rules(
            scale=1 / math.sqrt(self.key_dim),
            causal=causal,
            window=window,
            modifiers=tuple(self.modifiers),
        )
        return block_attention(
            rules,
            query,
            blocks,
            query_positions,
            exclusion=exclusion,
            parameters=tuple(each.parameters() for each in self.modifiers),
            dropout=dropout,
            seed=self.seed_generator.next() if dropout else None,
        )

    def project_output(self, output, inputs):
        """Make (rows, query, heads, depth) the output; inputs may gate it."""
        if self.use_gate:
            output *= self._gate_dense(inputs)
        rows = ops.reshape(output, (-1, self.num_heads * self.value_dim))
        rows = output_rows(rows, self.output_dense, self.value_dim)
        if output.shape[1] == 1:
            return rows[:, None]
        return ops.reshape(rows, (*ops.shape(output)[:2], *rows.shape[1:]))


def heads_first(x):
    """(rows, length, heads, depth) ↔ (rows, heads, length, depth)."""
    _, length, heads, depth = x.shape
    if 1 in (length, heads) and None not in (length, heads) and length * heads:
        # Nothing moves.
        return ops.reshape(x, (-1, heads, length, depth))
    return ops.transpose(x, (0, 2, 1, 3))


def clean_memory(layer, value, key=None, mask=None):
    """Take what a layer is about to project, with zeros where it is padding.

    Args:
        layer: An attention layer, which must have been built.
        value: (batch, key, value_features).
        key: (batch, key, key_features); `value` if not given.
        mask: (batch, key) booleans, False for padding; or None.

    Returns:
        The value and the key, in the layer's compute dtype, and the mask.

    Raises:
        ValueError: If the layer has no weights yet.
    """
    if not layer.built:
        raise ValueError(
            "`project_memory` needs the layer's weights, whose shapes depend "
            f"on the query as well. Received: {type(layer).__name__}, not "
            "built. Call it once, or layer.build(query_shape, value_shape)."
        )
    mask = masks.as_boolean(mask)
    value_is_key = key is None or key is value
    value = ops.cast(value, layer.compute_dtype)
    value = masks.zero_padding(value, mask, "mask")
    if value_is_key:
        return value, value, mask
    key = ops.cast(key, layer.compute_dtype)
    return value, masks.zero_padding(key, mask, "mask"), mask


def pack_memory(key, value, mask=None) -> dict:
    """Put a memory together: "key", "value" and "mask" if there is one.

    A dictionary of tensors only, rows first, so that it can be part of the
    state of a loop.
    """
    memory = {"key": key, "value": value}
    return memory if mask is None else {**memory, "mask": mask}
