"""Attention over some axes of an image or a video, as over one sequence."""

import dataclasses
import itertools
import math

from keras import ops

from keras_attn.ops import masks


@dataclasses.dataclass(frozen=True)
class AttentionAxes:
    """Which axes of (batch, ..., features) attend to each other.

        (batch, others, attended, features) → (rows, length, features)
        where rows = batch · others and length = the product of attended

    Everything between `fold` and `unfold` then deals with sequences. Of a
    (batch, frames, height, width, features) video, axes (2, 3) let the pixels
    of one frame attend to each other, axes (1,) one pixel at its own history.

    Args:
        axes: The axes that attend to each other, from 1 up; their order is that
            of the weights' axes.
        rank: Number of axes of the inputs, batch and features included.
    """

    axes: tuple[int, ...]
    rank: int

    @classmethod
    def of(cls, axes: tuple[int, ...] | None, rank: int) -> "AttentionAxes":
        """Take axes as users write them: None for all, or from the end."""
        if rank < 3:
            raise ValueError(
                "Attention needs inputs of rank 3 or more, (batch, length, "
                f"features). Received: rank {rank}. A single vector has "
                "nothing to attend to; give it a length of 1."
            )
        if axes is None:
            return cls(tuple(range(1, rank - 1)), rank)
        found = tuple(axis + rank if axis < 0 else axis for axis in axes)
        inside = all(0 < axis < rank - 1 for axis in found)
        if not found or not inside or len(set(found)) < len(found):
            raise ValueError(
                "`attention_axes` must be different axes between the batch (0) "
                f"and the features ({rank - 1}). Received: "
                f"attention_axes={axes} for inputs of rank {rank}"
            )
        return cls(found, rank)

    @property
    def others(self) -> tuple[int, ...]:
        """The batch and the axes along which nobody attends."""
        return tuple(i for i in range(self.rank - 1) if i not in self.axes)

    def check_shapes(self, query_shape, value_shape, key_shape):
        """Refuse inputs that cannot attend to each other."""
        shapes = {"query": query_shape, "value": value_shape, "key": key_shape}
        pairs = [("query", "value", self.others)]
        pairs += [("value", "key", range(self.rank - 1))]
        for one, other, axes in pairs:
            a, b = shapes[one], shapes[other]
            if len(a) != len(b) or any(
                None not in (a[i], b[i]) and a[i] != b[i] for i in axes
            ):
                raise ValueError(
                    f"`{one}` and `{other}` must have the same rank, and the "
                    f"same lengths along the axes {tuple(axes)}. Received: "
                    f"{one}_shape={tuple(a)}, {other}_shape={tuple(b)}"
                )

    def check_order(self, argument: str):
        """Refuse what goes by position where positions have no order."""
        if len(self.axes) > 1:
            raise ValueError(
                f"`{argument}` needs one axis with a first and a last "
                f"position. Received: attention over the axes {self.axes}. "
                "Choose one with `attention_axes`, reshape the input to (batch,"
                " length, features), or pass an `attention_mask`."
            )

    def check_sequences(self, what: str):
        """Refuse images and videos where only sequences make sense."""
        if self.rank != 3:
            raise ValueError(
                f"For {what} inputs must be (batch, length, features). "
                f"Received: inputs of rank {self.rank}. Reshape them."
            )

    def fold(self, x):
        """Turn (batch, ..., *rest) into (rows, length, *rest)."""
        if self.rank == 3:
            return x
        order = self.others + self.axes
        rest = tuple(range(len(order), len(x.shape)))
        x = ops.transpose(x, order + rest)
        shape = ops.shape(x)
        rows, attended = len(self.others), len(order)
        folded = (math.prod(shape[:rows]), math.prod(shape[rows:attended]))
        return ops.reshape(x, (*folded, *shape[attended:]))

    def unfold(self, x, like):
        """Undo `fold` for (rows, length, *rest); lengths are as in `like`."""
        if self.rank == 3:
            return x
        order = self.others + self.axes
        lengths, rest = ops.shape(like), ops.shape(x)[2:]
        x = ops.reshape(x, (*(lengths[axis] for axis in order), *rest))
        back = tuple(order.index(axis) for axis in range(len(order)))
        return ops.transpose(x, (*back, *range(len(order), len(x.shape))))

    def fold_padding(self, mask, x, name: str):
        """Turn the padding mask of `x` into (rows, length); None stays None.

        A (batch, time) mask of a video hides whole frames.
        """
        mask = masks.as_boolean(mask, name)
        if mask is None:
            return None
        missing = range(len(mask.shape), self.rank - 1)
        if len(mask.shape) > 1:
            mask = ops.expand_dims(mask, tuple(missing))
        masks.check_padding(mask, x.shape[:-1], name)
        if self.rank == 3:
            return mask
        return self.fold(ops.broadcast_to(mask, ops.shape(x)[:-1]))

    def fold_mask(self, mask, query, key, num_heads: int):
        """Turn an `attention_mask` into (rows, heads, query, key).

        As in Keras, axes that are missing are those in front of the attended
        ones: (batch, query, key) holds for every other axis and every head.

        Args:
            mask: (batch, others, heads, *query axes, *key axes), of which
                any of the first may be missing and any may be 1; or None.
            query, key: (batch, ..., features) inputs.
            num_heads: Number of heads.

        Returns:
            Booleans of rank 4, in which an axis may be 1; None for None.
        """
        mask = masks.as_boolean(mask, "attention_mask")
        if mask is None:
            return None
        shape = self.weights_shape(query.shape, key.shape, num_heads)
        attended = 2 * len(self.axes)
        given = len(mask.shape) - attended
        if not 0 <= given <= len(shape) - attended:
            raise ValueError(
                "`attention_mask` must have the axes (batch, query, key), or "
                "some of (batch, other axes, heads) in front of the query's "
                f"and the key's. Received: attention_mask.shape="
                f"{tuple(mask.shape)} for weights of shape {shape}"
            )
        mask = masks.for_attention(
            attention_mask=mask, shape=shape[:given] + shape[-attended:]
        )
        missing = range(len(shape) - len(mask.shape))
        start = len(mask.shape) - attended
        mask = ops.expand_dims(mask, tuple(start + i for i in missing))
        if self.rank == 3:
            return mask
        shape = self.weights_shape(ops.shape(query), ops.shape(key), num_heads)
        rows, length = len(self.others), len(self.axes)
        ends = (0, rows, rows + 1, rows + 1 + length, rows + 1 + 2 * length)
        full, folded = [], []
        for begin, end in itertools.pairwise(ends):
            ones = all(size == 1 for size in mask.shape[begin:end])
            sizes = (1,) * (end - begin) if ones else shape[begin:end]
            full.extend(sizes)
            folded.append(math.prod(sizes))
        return ops.reshape(ops.broadcast_to(mask, full), folded)

    def unfold_weights(self, weights, query, key):
        """Turn (rows, heads, query, key) into `weights_shape`."""
        if self.rank == 3:
            return weights
        heads = weights.shape[1]
        shape = self.weights_shape(ops.shape(query), ops.shape(key), heads)
        return ops.reshape(weights, shape)

    def weights_shape(self, query_shape, key_shape, num_heads: int) -> tuple:
        """Shape of the weights: (batch, others, heads, *query, *key)."""
        return (
            *(query_shape[axis] for axis in self.others),
            num_heads,
            *(query_shape[axis] for axis in self.axes),
            *(key_shape[axis] for axis in self.axes),
        )
