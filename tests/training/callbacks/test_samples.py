import warnings

import numpy as np
import pytest

from keras_attn.training import Samples
from tests.training.callbacks.runs import run


def counting():
    """A `decode` that says how often it was asked."""
    calls = []

    def decode(sources):
        calls.append(None)
        return [f"{source} {len(calls)}" for source in ("un", "deux")]

    return decode


def test_sources_references_and_texts_are_printed(capsys):
    callback = Samples(
        counting(), ["one", "two"], references=["uno", ["due", "duo"]]
    )
    run(callback, epochs=2)
    printed = capsys.readouterr().out
    assert printed.split("\nEpoch 2\n")[1] == (
        "  source:    one\n"
        "  reference: uno\n"
        "  model:     un 2\n"
        "  source:    two\n"
        "  reference: due\n"
        "  reference: duo\n"
        "  model:     deux 2\n"
    )


def test_a_file_gets_what_is_printed(capsys, tmp_path):
    path = tmp_path / "samples.txt"
    path.write_text("before\n")
    run(Samples(counting(), ["è", "two"], every=2, file=path), epochs=4)
    printed = capsys.readouterr().out
    added = path.read_text(encoding="utf-8").removeprefix("before\n")
    assert added == printed.replace("\nEpoch", "Epoch")
    assert added.startswith("Epoch 2\n  source:    è\n  model:     un 1\n")
    assert "Epoch 4\n" in added and "Epoch 3" not in added


def test_sources_that_are_no_texts_are_numbered(capsys):
    run(Samples(counting(), np.zeros((2, 4, 4))))
    printed = capsys.readouterr().out
    assert "  source:    number 1\n  model:     deux 1\n" in printed


def test_a_file_that_cannot_be_written_ends_no_training(capsys, tmp_path):
    callback = Samples(counting(), ["one", "two"], file=tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        losses = run(callback, epochs=3)["loss"]
    told = [x for x in caught if "Samples could not write" in str(x.message)]
    assert len(told) == 1 and len(losses) == 3
    assert capsys.readouterr().out.count("model:") == 6


@pytest.mark.parametrize(
    ("sources", "references"), [([], None), (["one", "two"], ["uno"])]
)
def test_wrong_numbers_are_refused_before_the_training(sources, references):
    with pytest.raises(ValueError, match=r"`sources` must|`references` must"):
        Samples(counting(), sources, references=references)


def test_another_number_of_texts_is_refused():
    with pytest.raises(ValueError, match="must return 3 strings"):
        run(Samples(counting(), ["one", "two", "three"]))


def test_what_decode_raises_is_not_hidden():
    def decode(sources):
        raise ArithmeticError("of its own")

    with pytest.raises(ArithmeticError, match="of its own"):
        run(Samples(decode, ["one"]))
