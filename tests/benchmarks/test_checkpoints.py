import pytest

from benchmarks import checkpoint_folders
from benchmarks import checkpoints
from benchmarks.checkpoints import PEER
from benchmarks.checkpoints import SERVED
from benchmarks.checkpoints import XLA


def test_each_ratio_stands_beside_its_target():
    found = {
        **{(1, XLA): 320.0, (1, SERVED): 110.0, (1, PEER): 100.0},
        **{(8, XLA): 1500.0, (8, SERVED): 1000.0, (8, PEER): 1000.0},
    }
    assert checkpoints.decoding_rows("t5", 4, found) == [
        "| t5 | beam-4 | 1 | 320 | 110 | 100 | 3.20 (1.6: met) | "
        "1.10 (1.2: NOT met) |",
        "| t5 | beam-4 | 8 | 1,500 | 1,000 | 1,000 | 1.50 (1.6: NOT met) | "
        "1.00 (1.0: met) |",
    ]
    (row,) = checkpoints.decoding_rows(
        "llama", 1, {(3, XLA): 2.0, (3, SERVED): 2.0, (3, PEER): 1.0}
    )
    assert row == "| llama | greedy | 3 | 2 | 2 | 1 | 2.00 | 2.00 |"


def test_tokenizers_have_targets_of_their_own():
    row = checkpoints.tokenizing_row("t5", {"ours": 15.0, "tokenizers": 100.0})
    assert row == "| Unigram | 15 | 100 | 0.15 (0.1: met) |"
    row = checkpoints.tokenizing_row(
        "llama", {"ours": 15.0, "tokenizers": 100.0}
    )
    assert row.endswith("0.15 (0.2: NOT met) |")


def test_a_side_that_was_not_asked_has_no_ratio():
    (row,) = checkpoints.decoding_rows("t5", 1, {(1, XLA): 2.0})
    assert row == "| t5 | greedy | 1 | 2 | – | – | – | – |"


@pytest.mark.peers
@pytest.mark.slow
def test_pieces_of_tiny_models_become_one_report(capsys, tmp_path):
    sizes = checkpoint_folders.Sizes(
        layers=1,
        width=16,
        heads=2,
        t5_layers=1,
        t5_width=12,
        t5_heads=2,
        vocabulary=700,
        tokens=600,
        prompt=7,
        new=3,
        lines=400,
    )
    options = ["--batches", "2", "--rounds", "1", "--folder", str(tmp_path)]
    for piece in (
        ["--models", "llama", "--beams", "1", "--only", "decoding"],
        ["--models", "t5", "--beams", "2", "--sides", "transformers"],
    ):
        checkpoints.main([*options, *piece], sizes)
    capsys.readouterr()
    checkpoints.main([*options, "--only", "report"], sizes)
    lines = capsys.readouterr().out.splitlines()
    rows = {
        "| llama | greedy | 2 |": 0,
        "| t5 | beam-2 | 2 |": 4,
        "| Unigram |": 0,
    }
    for start, missing in rows.items():
        (line,) = [x for x in lines if x.startswith(start)]
        assert line.count("–") == missing
        assert "nan" not in line and "inf" not in line
    with pytest.raises(ValueError, match="other sizes"):
        checkpoints.main([*options, "--new", "4"], sizes)
