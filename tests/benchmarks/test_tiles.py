import pytest

from benchmarks import tiles
from keras_attn.ops import attend
from keras_attn.ops.tiling import tiled
from keras_attn.training.accelerator.check import AcceleratorCheck


def test_a_row_gives_bytes_for_each_score():
    found = AcceleratorCheck(
        "a100", True, "", 1.0, 2**23, 2**21, 2**22, bytes_moved=64 * 6 * 10
    )
    line = tiles.row("a100", 3, 2, found)
    assert line == "| a100 | 3 × 2 | 10.0 | 2 |"
    refused = AcceleratorCheck("v5e", False, "out of HBM", 1.0)
    assert (
        tiles.row("v5e", 3, 2, refused) == "| v5e | 3 × 2 | does not fit | – |"
    )


@pytest.mark.accelerator
def test_the_tiles_of_a_gpu_move_less_than_those_of_a_cpu():
    def moved(tile):
        found = tiles.check("a100", *tile)
        assert found.fits and found.num_loops == 0
        return found.bytes_moved / (tile[0] * tile[1])

    assert moved(attend.CHIP_TILES["gpu"]) < 0.9 * moved(tiled.TILE)
