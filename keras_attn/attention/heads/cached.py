"""Attention that goes on from the keys and values it has kept."""

import math

from keras import ops

from keras_attn.attention.heads.memory import MemoryAttention
from keras_attn.attention.heads.memory import heads_first
from keras_attn.attention.heads.projecting import output_rows
from keras_attn.attention.heads.projecting import project_each
from keras_attn.attention.heads.projecting import project_rows
from keras_attn.base.state import State
from keras_attn.ops import cache
from keras_attn.ops import masks
from keras_attn.ops.attend import attention
from keras_attn.ops.cache import CacheIndex
from keras_attn.ops.dense import KeyValueBlock
from keras_attn.ops.step_index import StepIndex
from keras_attn.ops.step_index import make_step_index


class CachedAttention(MemoryAttention):
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
        query, key, value = project_each(
            (inputs,) * 3, (self.query_dense, self.key_dense, self.value_dense)
        )
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
        prompt = {"key": heads_first(key), "value": heads_first(value)}
        if self.sliding_window is not None:
            slots = self.num_slots(ops.shape(inputs)[1])
            prompt = {
                name: cache.fill(heads, lengths, slots)
                for name, heads in prompt.items()
            }
        kept = self.empty_cache(ops.shape(inputs)[0], max_length)
        kept = kept._replace(constant={**prompt, "length": lengths})
        return self.project_output(output, inputs), kept

    def step_index(self, kept, positions) -> StepIndex:
        """Work out what layers with the same window share in a step.

        Args:
            kept: The cache.
            positions: (rows,) integers, where the tokens stand.
        """
        positions = ops.cast(positions, "int32")
        prompt = kept.constant
        slots = ops.shape(kept.carried["key"])[2]
        first = prompt["length"] if prompt else 0
        prompt_index = None
        if prompt:
            prompt_slots = ops.shape(prompt["key"])[2]
            prompt_index = CacheIndex(
                first - 1, prompt_slots, rolls=self._rolls(prompt_slots)
            )
        return make_step_index(
            CacheIndex(positions, slots, first, rolls=self._rolls(slots)),
            prompt_index,
            window=self.sliding_window,
            dtype=self.compute_dtype,
            message=f"The cache has room for {slots} tokens, and one more "
            "came. Give `prefill`, `empty_cache` or `encode` a greater "
            "`max_length`, or the layer a `sliding_window`.",
        )

    def step(
        self,
        inputs,
        kept,
        positions,
        *,
        index: StepIndex | None = None,
        return_attention_scores=False,
    ):
        """Attend from the newest token of each row.

        Args:
            inputs: (rows, features).
            kept: The cache.
            positions: (rows,) integers, where the tokens stand; less than
                the cache's `max_length` after the prompt. Past it there is no
                room, unless a window rolls: an error, or where only the
                running graph knows the positions an output of NaN.
            index: What `step_index` makes of the cache and the positions, if
                another layer has it already.
            return_attention_scores: Whether to return the weights as well.

        Returns:
            (rows, features) output, the cache with the new token, and the
            weights if asked for: (rows, heads, 1, slots), the prompt's first.
        """
        self.refuse_override("step")
        if len(inputs.shape) != 2:
            raise ValueError(
                "`step` takes the vectors of one position, (rows, features). "
                f"Received: inputs.shape={tuple(inputs.shape)}. Give it "
                "x[:, position], or whole prompts to `prefill`."
            )
        index = index or self.step_index(kept, positions)
        inputs = ops.cast(inputs, self.compute_dtype)
        # One product, not three: twice as fast for a single row.
        query, key, value = project_rows(
            inputs, (self.query_dense, self.key_dense, self.value_dense)
        )
        if self.modifiers:
            query, key = self._modify(query, key, index.query_positions)
        query = _one_position(query, self.key_dim)
        key = _one_position(key, self.key_dim)
        value = _one_position(value, self.value_dim)
        written = {
            "key": cache.write(kept.carried["key"], key, index.newest),
            "value": cache.write(kept.carried["value"], value, index.newest),
        }
        blocks = [kept.constant, written] if kept.constant else [written]
        output, weights = self.attend_blocks(
            query,
            [
                KeyValueBlock(block["key"], block["value"], positions)
                for block, positions in zip(
                    blocks, index.key_positions, strict=True
                )
            ],
            index.query_positions,
            exclusion=index.exclusion,
        )
        output = ops.reshape(output, (-1, self.num_heads * self.value_dim))
        if self.use_gate:
            output *= project_rows(inputs, [self._gate_dense])[0]
        output = output_rows(output, self.output_dense, self.value_dim)
        kept = kept._replace(carried=written)
        if return_attention_scores:
            return output, kept, weights
        return output, kept

    def _rolls(self, slots):
        """Whether a cache of so many slots holds a whole window."""
        if self.sliding_window is None:
            return False
        # `num_slots` gives a whole window where lengths are not known.
        return not isinstance(slots, int) or slots >= self.sliding_window

    def _modify(self, query, key, positions):
        """Let modifiers act on one step: (rows, 1, heads, depth)."""
        depth = self.key_dim
        query = ops.reshape(query, (-1, 1, self.num_heads, depth))
        key = ops.reshape(key, (-1, 1, key.shape[-1] // depth, depth))
        for modifier in self.modifiers:
            query = modifier.query_heads(query, positions)
            key = modifier.key_heads(key, positions)
        return query, key


def _one_position(x, depth):
    """Lay out the heads of one position: (rows, heads, 1, depth)."""
    return ops.reshape(x, (-1, math.prod(x.shape[1:]) // depth, 1, depth))
