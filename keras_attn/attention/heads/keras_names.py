"""What subclasses of Keras' multi-head attention read and override."""

import math
import operator

from keras_attn.attention.heads.projected import ProjectedAttention
from keras_attn.ops import masks
from keras_attn.ops.attend import attention

# Private in Keras, with an underscore, and read by subclasses all the same.
READ = (
    "num_heads",
    "key_dim",
    "value_dim",
    "dropout",
    "use_bias",
    "use_gate",
    "sliding_window",
    "flash_attention",
    "query_dense",
    "key_dense",
    "value_dense",
    "output_dense",
)


class KerasNames(ProjectedAttention):
    """Attention from heads to heads, under Keras' private names as well.

        output = softmax(query · key / √key_dim) value

    `_query_dense` and the other names of `READ` are those without the
    underscore. A subclass may override `_compute_attention`, as for Keras;
    steps with a cache then refuse to go another way.
    """

    # Whether a subclass has an attention of its own.
    is_overridden = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own = cls._compute_attention
        cls.is_overridden = own is not KerasNames._compute_attention

    @property
    def chosen_implementation(self) -> str:
        """What `implementation` and Keras' `flash_attention` come to."""
        tiled = self.flash_attention and self.implementation == "auto"
        return "tiled" if tiled else self.implementation

    def attend_heads(
        self,
        query,
        key,
        value,
        *,
        mask=None,
        query_mask=None,
        causal: bool = False,
        segments=None,
        training=None,
        return_weights: bool = False,
    ):
        """Attend as the layer's arguments say, or as a subclass does.

        Args:
            query, key, value, mask, query_mask, causal, segments,
                return_weights: As for `ops.attention`.
            training: Whether weights are dropped.

        Returns:
            (batch, query, heads, depth), and the weights or None.
        """
        if self.is_overridden:
            self._axes.check_sequences("an overridden `_compute_attention`")
            mask = masks.combine(
                mask,
                None if query_mask is None else query_mask[:, None, :, None],
                self._by_position(query, key, causal),
                None if segments is None else _by_segment(segments),
            )
            if mask is not None and mask.shape[1] == 1:
                mask = mask[:, 0]  # (batch, query, key)
            return self._compute_attention(
                query, key, value, mask, training, return_weights
            )
        return self._attend(
            query,
            key,
            value,
            mask=mask,
            query_mask=query_mask,
            causal=causal,
            segments=segments,
            training=training,
            return_weights=return_weights,
        )

    def refuse_override(self, method: str):
        """Refuse `method`, which would pass a subclass's attention by."""
        if self.is_overridden:
            raise ValueError(
                f"{type(self).__name__} overrides `_compute_attention`, which "
                f"`{method}` cannot use: it attends to what is kept in a "
                "cache. Call the layer on whole sequences."
            )

    def _compute_attention(
        self,
        query,
        key,
        value,
        attention_mask=None,
        training=None,
        return_attention_scores=False,
        use_causal_mask=False,
    ):
        """Attend; for a subclass to override, and for it to call.

        Args:
            query: (batch, query, heads, depth).
            key, value: (batch, key, kv_heads, depth).
            attention_mask: (batch, query, key) booleans, or with heads as
                the second axis; everything that hides is in it.
            training: Whether weights are dropped.
            return_attention_scores: Whether the weights are wanted.
            use_causal_mask: Whether query i sees keys 0 to i only, besides.

        Returns:
            (batch, query, heads, depth), and the weights or None.
        """
        mask = masks.for_attention(attention_mask=attention_mask)
        if mask is not None and len(mask.shape) == 3:
            mask = mask[:, None]
        return self._attend(
            query,
            key,
            value,
            mask=mask,
            causal=use_causal_mask,
            training=training,
            return_weights=return_attention_scores,
        )

    def _attend(
        self, query, key, value, *, training, return_weights, **options
    ):
        dropout = self.dropout if training else 0.0
        chosen = self.chosen_implementation
        outcome = attention(
            query,
            key,
            value,
            **options,
            window=self.sliding_window,
            modifiers=self.modifiers,
            scale=1 / math.sqrt(self.key_dim),
            query_positions=masks.from_start(query),
            key_positions=masks.from_start(key),
            dropout=dropout,
            seed=self.seed_generator if dropout else None,
            return_weights=return_weights,
            implementation="dense" if return_weights else chosen,
            padding_is_finite=True,
        )
        return outcome if return_weights else (outcome, None)

    def _by_position(self, query, key, causal):
        visible = masks.by_position(
            masks.from_start(query),
            masks.from_start(key),
            causal=causal,
            window=self.sliding_window,
        )
        return None if visible is None else visible[:, None]


def _by_segment(segments):
    return masks.by_segment(*segments)[:, None]


for _name in READ:
    setattr(KerasNames, f"_{_name}", property(operator.attrgetter(_name)))
