import pytest

from benchmarks import recurrent
from benchmarks.recurrent_sides import Sizes
from benchmarks.recurrent_sides import ids


def test_a_row_tells_the_figures_and_the_ratios_to_torch():
    results = {
        "ours": {"best": 0.09, "first": 4.0},
        "ours_xla": {"best": 0.05, "first": 9.0},
        "unrolled": None,
        "torch": {"best": 0.1, "first": 0.2},
    }
    assert recurrent.figures("train", results, 0) == (
        "90 ms (first 4.0 s) | 50 ms (first 9.0 s) | – | "
        "100 ms (first 0.2 s) | 0.90 | 0.50"
    )
    cells = recurrent.figures("decode_1", results, 32).split(" | ")
    assert cells[0] == "356 tokens/s" and cells[-2:] == ["1.11", "2.00"]


def test_ids_are_never_padding():
    made = ids(3, 4, Sizes(vocabulary=3))
    assert made.shape == (3, 3, 4)
    assert {1, 2} == set(made.flatten().tolist())


@pytest.mark.slow
@pytest.mark.peers
def test_every_side_runs():
    lines = recurrent.main(["--quick", "--tasks", "train", "decode_1"])
    assert len(lines) == 8
    assert "tokens/s" in lines[-1]
