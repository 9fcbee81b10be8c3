import dataclasses

import numpy as np
import pytest

from examples import reverse_digits
from examples.reverse_digits import BOUNDARY
from examples.reverse_digits import PADDING

TINY = reverse_digits.Config(
    max_length=5, width=7, num_examples=64, num_held_out=16, batch_size=32
)


@pytest.fixture
def data():
    return reverse_digits.make_examples(TINY, 64, seed=3)


def test_labels_are_the_source_backwards(data):
    inputs, labels = data
    for source, label in zip(inputs["source"], labels, strict=True):
        written = label[label != PADDING]
        assert source[0] == BOUNDARY
        assert source[source != PADDING].tolist() == written[::-1].tolist()
        assert len(written) >= 3  # the boundary and two digits


def test_the_target_is_what_was_written_before(data):
    inputs, labels = data
    for target, label in zip(inputs["target"], labels, strict=True):
        length = (label != PADDING).sum()
        assert target[0] == BOUNDARY
        assert target[1:length].tolist() == label[: length - 1].tolist()
        assert not target[length:].any()


def test_lengths_differ_so_that_masks_matter(data):
    lengths = (data[1] != PADDING).sum(axis=1)
    assert lengths.min() == 3 and lengths.max() == 6


def test_what_was_trained_on_is_not_held_out(data):
    inputs, labels = data
    seen = inputs["source"][:10]
    inputs, labels = reverse_digits.never_seen(inputs, labels, seen)
    assert 0 < len(labels) == len(inputs["source"]) <= 54
    for row in inputs["source"]:
        assert not (row == seen).all(axis=1).any()


def test_padding_does_not_change_what_is_written(data):
    model, _ = reverse_digits.build_models(TINY)
    source = data[0]["source"]
    longer = np.pad(source, [(0, 0), (0, 4)])
    answer = reverse_digits.write(model, source)
    np.testing.assert_array_equal(
        reverse_digits.write(model, longer)[:, :6], answer
    )


@pytest.mark.slow
def test_learns_and_draws(tmp_path, capsys):
    config = dataclasses.replace(
        TINY,
        width=48,
        num_examples=6_000,
        num_held_out=300,
        batch_size=64,
        folder=str(tmp_path / "new"),
    )
    assert reverse_digits.main(config) > 0.9  # guessing scores about 0.1
    assert (tmp_path / "new" / "alignment.png").is_file()
    assert "% of the digits" in capsys.readouterr().out
