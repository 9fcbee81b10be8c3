import sys

import pytest

from benchmarks import walks
from keras_attn.base import argument_checks


def test_each_function_of_the_library_is_told_once_and_in_order():
    def road():
        sorted([argument_checks.integer(n, "n") for n in (3, 4)])

    assert walks.entered(road) == [
        "base/argument_checks.py integer",
        "base/argument_checks.py is_integer",
    ]


def test_nobody_watches_after_a_road_that_fails():
    before = sys.getprofile()
    with pytest.raises(ValueError, match="must be an integer"):
        walks.entered(lambda: argument_checks.integer("3", "n"))
    assert sys.getprofile() is before is None


@pytest.mark.slow  # tracing a servable
def test_every_road_reaches_its_end(capsys):
    walks.main(["--list"])
    printed = capsys.readouterr().out
    first, request, beam = printed.split(" functions\n")[1:]
    assert "token_losses.py token_losses" in first
    assert "translation.py Translation.read" in request
    assert "beam_search.py beam" in beam
