"""The block that a decoder is a stack of."""

import keras
from keras import ops

from keras_attn.blocks.block import Block
from keras_attn.ops import masks


@keras.saving.register_keras_serializable(package="keras_attn")
class DecoderBlock(Block):
    """Causal self-attention, cross-attention, then a feed-forward network.

        Y      = norm(x + attention(x, x))        causal
        Z      = norm(Y + attention(Y, memory))
        output = norm(Z + feed_forward(Z))

    Without a memory the second line is left out, as in GPT; with
    `norm="pre"` the norms stand at the head of each sublayer instead. `step`
    goes token by token, with a cache, and gives the same.

    Args: as for `Block`: num_heads, hidden_dim, norm, normalization, epsilon,
        activation, use_bias, dropout, attention, layer_scale,
        stochastic_depth, kernel_initializer.

    Call arguments:
        inputs: (batch, target, features).
        memory: (batch, source, memory_features), or None.
        mask, memory_mask: (batch, target) and (batch, source) padding masks;
            filled in by Keras.
        attention_mask: (batch, target, target) booleans for self-attention.
        segments: (batch, target) integers: positions see their own segment
            only, and 0 is padding.
        use_causal_mask: Whether position i sees positions 0 to i only.
        return_attention_scores: Whether to return the weights as well.
        training: Whether anything is dropped.

    Returns:
        (batch, target, features); if asked for, then the weights of
        self-attention (batch, heads, target, target), and those of
        cross-attention (batch, heads, target, source) if there is a memory.

    Reference:
        Vaswani et al. 2017, section 3.1. https://arxiv.org/abs/1706.03762
    """

    def build(self, inputs_shape, memory_shape=None):
        if self.normalization == "batch":
            raise ValueError(
                'A decoder block takes no normalization="batch": the '
                "statistics of a batch would tell each position of those after "
                "it, and a step of decoding has no batch of positions. Use "
                '"layer" or "rms"; encoder blocks take "batch" too.'
            )
        self.build_self_attention(inputs_shape)
        self.cross_attention = None
        if memory_shape is not None:
            self.cross_attention = self.make_attention(
                "cross_attention", inputs_shape[-1]
            )
            self.cross_attention.build(inputs_shape, memory_shape)
            self.cross_residual = self.make_residual("cross_residual")
            self.cross_residual.build(inputs_shape)
        self.build_feed_forward(inputs_shape)

    def call(
        self,
        inputs,
        memory=None,
        *,
        mask=None,
        inputs_mask=None,
        memory_mask=None,
        attention_mask=None,
        segments=None,
        use_causal_mask=True,
        return_attention_scores=False,
        training=None,
    ):
        # Keras fills in `mask` if a layer is called with one tensor only, and
        # `inputs_mask` if there are more.
        mask = inputs_mask if mask is None else mask
        self._check_memory(memory)
        x = masks.zero_padding(inputs, mask, "mask")
        given = dict(
            return_attention_scores=return_attention_scores, training=training
        )
        x, own = self.attend_self(
            x,
            mask,
            attention_mask=attention_mask,
            segments=segments,
            use_causal_mask=use_causal_mask,
            **given,
        )
        seen = ()
        if memory is not None:
            y = self.cross_attention(
                self.cross_residual.before(x),
                memory,
                query_mask=mask,
                value_mask=memory_mask,
                **given,
            )
            y, *seen = y if return_attention_scores else (y,)
            x = self.cross_residual.after(x, y, training)
        x = self.feed(x, training)
        return (x, *own, *seen) if return_attention_scores else x

    def prefill(self, inputs, lengths, max_length: int):
        """Read whole prompts at once, and keep what `step` needs.

        For blocks without a memory.

        Args:
            inputs: (rows, prompt, features), prompts first in their rows.
            lengths: (rows,) integers.
            max_length: How many tokens may follow.

        Returns:
            (rows, prompt, features) output and the cache.
        """
        self._check_memory(None)
        x = inputs
        y = self.attention_residual.before(x)
        y, cache = self.self_attention.prefill(y, lengths, max_length)
        return self.feed(self.attention_residual.after(x, y)), cache

    def project_memory(self, memory, *, mask=None) -> dict:
        """Project the memory once, for all steps.

        Args:
            memory: (rows, source, memory_features).
            mask: (rows, source) booleans, False for padding; or None.

        Returns:
            What the cross-attention's own `project_memory` returns.
        """
        self._check_memory(memory)
        return self.cross_attention.project_memory(memory, mask=mask)

    def step(self, inputs, cache, positions, memory=None, *, index=None):
        """Go on by one token.

        Args:
            inputs: (rows, features).
            cache: What `prefill` or the last `step` returned.
            positions: (rows,) integers, where the tokens stand.
            memory: What `project_memory` returned, or None.
            index: What the self-attention's `step_index` makes of the cache
                and the positions, if another block has it already.

        Returns:
            (rows, features) output, the cache, and the weights of
            cross-attention, (rows, heads, 1, source), or None.
        """
        self._check_memory(memory)
        x, weights = inputs, None
        y = self.attention_residual.before(x)
        y, cache = self.self_attention.step(y, cache, positions, index=index)
        x = self.attention_residual.after(x, y)
        if memory is not None:
            y, weights = self.cross_attention.attend_memory(
                self.cross_residual.before(x)[:, None],
                memory,
                query_positions=ops.cast(positions, "int32")[:, None],
                return_attention_scores=True,
            )
            x = self.cross_residual.after(x, y[:, 0])
        return self.feed(x), cache, weights

    def _check_memory(self, memory):
        if (memory is None) != (self.cross_attention is None):
            built, called = "with", "without"
            if self.cross_attention is None:
                built, called = called, built
            raise ValueError(
                f"This decoder block was built {built} a memory, on which its "
                f"weights depend, and is now called {called} one. Make "
                "another block for the other use."
            )
