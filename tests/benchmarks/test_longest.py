import pytest

from benchmarks import longest
from keras_attn.training.accelerator.check import AcceleratorCheck


def test_a_row_gives_memory_or_the_reason():
    found = AcceleratorCheck("a100", True, "", 1.0, 3 * 2**30)
    assert longest.row(2048, True, found) == "| a100 | 2,048 | causal | 3.00 |"
    refused = AcceleratorCheck("v5e", False, "out of HBM", 1.0)
    assert longest.row(9, False, refused) == "| v5e | 9 | none | out of HBM |"


@pytest.mark.accelerator
def test_a_layer_is_asked_about(capsys):
    longest.main(["--target", "a100", "--tokens", "2048"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("|") for line in lines] == [5] * 4
    assert lines[2].startswith("| a100 | 2,048 | none | 0.")
