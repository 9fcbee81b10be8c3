"""jax's splash attention as TensorFlow functions, forward and backward."""

import dataclasses

import numpy as np

from keras_attn.ops.fused.season import import_jax

# Queries and keys of a block, of which the largest is taken that fills up no
# more than an eighth of the sequence with padding.
BLOCKS = (512, 256, 128)

# Numbers in a row of the TPU's memory.
_LANES = 128


@dataclasses.dataclass(frozen=True)
class KernelShape:
    """All that the kernel is made for.

    Args:
        heads: Of the queries.
        query, key: Lengths, multiples of the blocks.
        left, right: How many positions before and after its own a query sees;
            None for all.
        offset: The position of the first query, keys counting from 0.
        soft_cap: Bound of the scores, or None.
        depth: Of queries and keys.
        interpreted: Whether it is for a CPU, and slow, instead of a TPU.
    """

    heads: int
    query: int
    key: int
    left: int | None
    right: int | None
    offset: int
    soft_cap: float | None
    depth: int
    interpreted: bool


def padded(length: int) -> int:
    """The length that a sequence has once it is filled up with padding."""
    block = block_of(length)
    return -(-length // block) * block


def block_of(length: int) -> int:
    """Positions of one block of a sequence, filled up or not."""
    for block in BLOCKS:
        if -length % block <= length // 8:
            return block
    return BLOCKS[-1]


def make_kernel(shape: KernelShape):
    """Two TensorFlow functions: the attention, and its gradient.

    The first takes query (batch, heads, query, depth), scaled; key and value
    (batch, kv_heads, key, depth); a dictionary of (batch, length) segments "q"
    and "kv", or None; and (heads,) sinks, or None. It returns the output and a
    list of what the second needs, which takes that list and the output's
    gradient, and returns those of query, key, value and sinks.
    """
    jax = import_jax()
    from jax.experimental import jax2tf
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_kernel as splash,
    )

    one_row = splash.make_splash_mha(
        _mask(shape),
        head_shards=1,
        q_seq_shards=1,
        block_sizes=_block_sizes(splash, shape),
        attn_logits_soft_cap=shape.soft_cap,
        interpret=shape.interpreted,
    )
    tree = None

    def forward(query, key, value, segments, sinks):
        def attend(query, key, value, sinks):
            options = {} if sinks is None else {"sinks": sinks}

            def row(query, key, value, segments):
                ids = segments and splash.SegmentIds(**segments)
                return one_row(query, key, value, segment_ids=ids, **options)

            return jax.vmap(row)(query, key, value, segments)

        nonlocal tree
        output, pull_back = jax.vjp(attend, query, key, value, sinks)
        kept, tree = jax.tree.flatten(pull_back)
        return output, kept

    def backward(kept, upstream):
        return jax.tree.unflatten(tree, kept)(upstream)

    platform = "cpu" if shape.interpreted else "tpu"
    options = {
        "with_gradient": False,
        "native_serialization_platforms": (platform,),
        # Lowered by a TensorFlow without a TPU, it is refused otherwise.
        "native_serialization_disabled_checks": [
            jax2tf.DisabledSafetyCheck.platform()
        ],
    }
    return tuple(jax2tf.convert(f, **options) for f in (forward, backward))


def _mask(shape):
    from jax.experimental.pallas.ops.tpu.splash_attention import (
        splash_attention_mask as masks,
    )

    left, right = shape.left, shape.right

    class Band(masks.LocalMask):
        """Tells blocks that are all alike by one boolean.

        jax asks whether any and whether all of a block is seen, which takes
        most of a minute for 65,536 positions if each is looked at.
        """

        def __getitem__(self, index):
            rows, columns = index
            nearest = rows.start + self.offset - (columns.stop - 1)
            farthest = rows.stop - 1 + self.offset - columns.start
            if (right is None or nearest >= -right) and (
                left is None or farthest <= left
            ):
                return np.array([[True]])
            if (right is not None and farthest < -right) or (
                left is not None and nearest > left
            ):
                return np.array([[False]])
            return super().__getitem__(index)

        __hash__ = masks.LocalMask.__hash__

    size = shape.query, shape.key
    if left is None and right is None:
        mask = masks.FullMask(size)
    else:
        mask = Band(size, (left, right), offset=shape.offset)
    return masks.MultiHeadMask([mask] * shape.heads)


def _block_sizes(splash, shape):
    query, key = block_of(shape.query), block_of(shape.key)
    names = ("block_kv", "block_kv_compute", "block_kv_dkv")
    names += ("block_kv_dkv_compute", "block_kv_dq")
    layout = splash.QKVLayout.HEAD_DIM_MINOR
    if shape.depth % _LANES:
        # Heads of 64 numbers would be half padding, positions are none.
        layout = splash.QKVLayout.SEQ_MINOR
    return splash.BlockSizes(
        **dict.fromkeys(("block_q", "block_q_dkv", "block_q_dq"), query),
        **dict.fromkeys(names, key),
        **dict.fromkeys(("q_layout", "k_layout", "v_layout"), layout),
    )
