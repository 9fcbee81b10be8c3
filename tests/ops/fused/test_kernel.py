import numpy as np
import pytest

from keras_attn.ops.fused import kernel


@pytest.mark.parametrize(
    ("length", "block", "filled"),
    [
        (1, 128, 128),
        (128, 128, 128),
        (150, 128, 256),
        (250, 256, 256),
        (512, 512, 512),
        (700, 256, 768),
        (4000, 512, 4096),
    ],
)
def test_blocks_are_large_and_padding_is_little(length, block, filled):
    assert kernel.block_of(length) == block
    assert kernel.padded(length) == filled
    # What was filled up has the same blocks.
    assert kernel.padded(filled) == filled and filled % block == 0


@pytest.mark.accelerator
@pytest.mark.parametrize(
    ("left", "right", "offset"),
    [(None, 0, 0), (None, 0, 70), (300, 0, 5), (140, 140, 0), (9, 0, -128)],
)
def test_blocks_are_seen_as_their_scores_are(left, right, offset):
    size = 256, 512
    shape = kernel.KernelShape(
        2, *size, left, right, offset, soft_cap=None, depth=64, interpreted=True
    )
    mask = kernel._mask(shape)
    distance = np.arange(256)[:, None] + offset - np.arange(512)
    wanted = distance >= -right
    if left is not None:
        wanted &= distance <= left
    for row in range(0, 256, 128):
        for column in range(0, 512, 128):
            block = slice(row, row + 128), slice(column, column + 128)
            found = np.asarray(mask[(0, *block)])
            assert found.any() == wanted[block].any()
            assert found.all() == wanted[block].all()
            if found.any() and not found.all():
                np.testing.assert_array_equal(found, wanted[block])
