"""Attention to keys and values that were projected before."""

import math

from keras import ops

from keras_attn.attention.keras_names import KerasNames
from keras_attn.attention.memory import clean_memory
from keras_attn.attention.memory import pack_memory
from keras_attn.attention.projecting import project_each
from keras_attn.base.state import State
from keras_attn.ops import cache
from keras_attn.ops import masks
from keras_attn.ops.attend import attention
from keras_attn.ops.dense import KeyValueBlock
from keras_attn.ops.dense import block_attention
from keras_attn.ops.scores import Rules


class CachedAttention(KerasNames):
    """Multi-head attention for one new token at a time.

        output(t) = attention(query(t), keys(0 … t), values(0 … t))

    where only the newest key and value are computed; the rest are kept. The
    steps one after the other equal one causal call on the whole sequence.
    What a prompt leaves is constant in the `State`, so that no step has to
    copy it.
    """

    def num_slots(self, max_length: int) -> int:
        """Slots that are needed to keep up to `max_length` tokens."""
        if self.sliding_window is None:
            return max_length
        # A length that only the running graph knows cannot be compared.
        if not isinstance(max_length, int):
            return self.sliding_window
        return min(max_length, self.sliding_window)

    def empty_cache(self, rows, max_length: int):
        """Room for tokens to come: (rows, kv_heads, slots, depth) zeros."""
        heads = self.num_kv_heads or self.num_heads
        slots = self.num_slots(max_length)
        dtype = self.compute_dtype
        return State(
            {
                "key": ops.zeros((rows, heads, slots, self.key_dim), dtype),
                "value": ops.zeros((rows, heads, slots, self.value_dim), dtype),
            }
        )

    def prefill(self, inputs, lengths, max_length: int):
        """Read whole prompts at once, and keep what later steps need.

        Args:
            inputs: (rows, prompt, features); each prompt stands first in its
                row, whatever fills the row up, NaN too, changes nothing of it.
            lengths: (rows,) integers.
            max_length: How many tokens may follow.

        Returns:
            (rows, prompt, features) output, and the cache: carried are `key`
            and `value`, (rows, kv_heads, slots, depth), empty yet; constant
            those of the prompt with its `length`.
        """
        self.refuse_override("prefill")
        lengths = ops.cast(lengths, "int32")
        real = masks.from_start(inputs) < lengths[:, None]
        inputs = ops.cast(inputs, self.compute_dtype)
        # Not all that follows a prompt: a caller may want the output of the
        # token that the first step will start from.
        kept = ops.logical_or(real[:, :, None], ops.isfinite(inputs))
        inputs = ops.where(kept, inputs, ops.zeros_like(inputs))
        inputs, query, key, value = self._project(inputs)
        positions = masks.from_start(query)
        output = attention(
            query,
            key,
            value,
            causal=True,
            window=self.sliding_window,
            modifiers=self.modifiers,
            scale=1 / math.sqrt(self.key_dim),
            implementation=self.chosen_implementation,
        )
        for modifier in self.modifiers:
            key = modifier.key_heads(key, positions)
        prompt = {"key": _heads_first(key), "value": _heads_first(value)}
        if self.sliding_window is not None:
            slots = self.num_slots(ops.shape(inputs)[1])
            prompt = {
                name: cache.fill(heads, lengths, slots)
                for name, heads in prompt.items()
            }
        kept = self.empty_cache(ops.shape(inputs)[0], max_length)
        kept = kept._replace(constant={**prompt, "length": lengths})
        return self._out(output, inputs), kept

    def step(self, inputs, kept, positions, return_attention_scores=False):
        """Attend from the newest token of each row.

        Args:
            inputs: (rows, 1, features).
            kept: The cache.
            positions: (rows,) integers, where the tokens stand; less than
                the cache's `max_length` after the prompt. Past it there is no
                room, unless a window rolls: an error, or where only the
                running graph knows the positions an output of NaN.
            return_attention_scores: Whether to return the weights as well.

        Returns:
            (rows, 1, features) output, the cache with the new token, and the
            weights if asked for: (rows, heads, 1, slots), the prompt's first.
        """
        self.refuse_override("step")
        inputs, query, key, value = self._project(inputs)
        positions = ops.cast(positions, "int32")
        prompt, written = kept.constant, kept.carried
        slots = ops.shape(written["key"])[2]
        cache_index = cache.CacheIndex(
            positions,
            slots,
            first=prompt["length"] if prompt else 0,
            rolls=self._rolls(slots),
        )
        query = cache.refuse_past_the_end(
            query,
            cache_index,
            f"The cache has room for {slots} tokens, and one more came. Give "
            "`prefill`, `empty_cache` or `encode` a greater `max_length`, or "
            "the layer a `sliding_window`.",
        )
        for modifier in self.modifiers:
            query = modifier.query_heads(query, cache_index.query_positions)
            key = modifier.key_heads(key, cache_index.query_positions)
        written = {
            "key": cache.write(written["key"], _heads_first(key), cache_index),
            "value": cache.write(
                written["value"], _heads_first(value), cache_index
            ),
        }
        blocks = [_block(written, cache_index)]
        if prompt:
            slots = ops.shape(prompt["key"])[2]
            last = cache.CacheIndex(
                cache_index.first - 1, slots, rolls=self._rolls(slots)
            )
            blocks.insert(0, _block(prompt, last))
        output, weights = self._attend_blocks(
            query, blocks, cache_index.query_positions
        )
        output = self._out(output, inputs)
        kept = kept._replace(carried=written)
        if return_attention_scores:
            return output, kept, weights
        return output, kept

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
        return pack_memory(_heads_first(key), _heads_first(value), mask)

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
        heads = self.query_dense(query)
        if query_positions is None:
            query_positions = masks.from_start(query)
        query_positions = ops.cast(query_positions, "int32")
        for modifier in self.modifiers:
            heads = modifier.query_heads(heads, query_positions)
        key, value = memory["key"], memory["value"]
        mask = masks.for_attention(
            value_mask=memory.get("mask"), attention_mask=attention_mask
        )
        if mask is not None and len(mask.shape) == 3:
            mask = mask[:, None]  # (rows, 1, query or 1, key)
        positions = ops.arange(ops.shape(key)[2], dtype="int32")[None]
        output, weights = self._attend_blocks(
            heads,
            [KeyValueBlock(key, value, positions, mask)],
            query_positions,
            causal=use_causal_mask,
            training=training,
        )
        output = masks.zero_padding(output, query_mask)
        output = self._out(output, query)
        if not return_attention_scores:
            return output
        return output, masks.zero_padding(weights, query_mask, axis=2)

    def _rolls(self, slots):
        """Whether a cache of so many slots holds a whole window."""
        if self.sliding_window is None:
            return False
        # `num_slots` gives a whole window where lengths are not known.
        return not isinstance(slots, int) or slots >= self.sliding_window

    def _project(self, inputs):
        inputs = ops.cast(inputs, self.compute_dtype)
        projections = (self.query_dense, self.key_dense, self.value_dense)
        # One product, whose kernels XLA lays side by side before a loop; it
        # is twice as fast there as three, for a single row.
        return inputs, *project_each((inputs,) * 3, projections)

    def _attend_blocks(
        self, query, blocks, query_positions, causal=False, training=None
    ):
        dropout = self.dropout if training else 0.0
        rules = Rules(
            scale=1 / math.sqrt(self.key_dim),
            causal=causal,
            window=self.sliding_window,
            modifiers=tuple(self.modifiers),
        )
        output, weights = block_attention(
            rules,
            _heads_first(query),
            blocks,
            query_positions,
            parameters=tuple(each.parameters() for each in self.modifiers),
            dropout=dropout,
            seed=self.seed_generator.next() if dropout else None,
        )
        return _heads_first(output), weights

    def _out(self, output, inputs):
        if self.use_gate:
            output *= self._gate_dense(inputs)
        return self.output_dense(output)


def _block(kept, cache_index):
    """What is kept, with the positions of its slots."""
    positions = cache_index.key_positions()
    mask = (positions >= 0)[:, None, None]
    return KeyValueBlock(kept["key"], kept["value"], positions, mask)


def _heads_first(x):
    """(rows, length, heads, depth) ↔ (rows, heads, length, depth)."""
    return ops.transpose(x, (0, 2, 1, 3))
