import numpy as np
import pytest

from keras_attn.models.sagan import checks


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((48, None), "power of two from 32.*image_size=48"),
        ((16, None), "`image_size` must be an integer of at least 32"),
        ((32, 0), "`num_classes` must be"),
    ],
)
def test_refuses_sizes(given, message):
    with pytest.raises(ValueError, match=message):
        checks.sizes(*given)


def test_pixels_are_from_0_to_1_unless_told():
    assert checks.value_range(None) == (0, 1)
    assert checks.value_range([-1, 1]) == (-1, 1)
    for wrong in ([1, 0], [1], [0, 0]):
        with pytest.raises(ValueError, match="`value_range` must be"):
            checks.value_range(wrong)


def test_attention_is_at_a_quarter_unless_told():
    assert checks.resolutions(None, 128) == (32,)
    assert checks.resolutions([], 128) == ()
    assert checks.resolutions([8, 16], 32) == (8, 16)
    for wrong in (4, 12, 32):
        with pytest.raises(ValueError, match=r"must be among \[8, 16\]"):
            checks.resolutions([wrong], 32)


@pytest.mark.parametrize(
    ("seeds", "classes", "message"),
    [
        ([-1], [0], "`seeds` must be"),
        ([0.5], [0], "`seeds` must be"),
        ([[1]], [0], "`seeds` must be"),
        ([1, 2], [0, 3], "from 0 to 2.*2 seeds"),
        ([1, 2], [0, -1], "`classes` must be an integer for each"),
        ([1, 2], [0], "`classes` must be an integer for each"),
        ([1, 2], None, "`classes` must be given"),
    ],
)
def test_refuses_seeds_and_classes(seeds, classes, message):
    with pytest.raises(ValueError, match=message):
        checks.seeds_and_classes(seeds, classes, 3)


def test_a_model_of_one_kind_takes_no_classes():
    with pytest.raises(ValueError, match="for no other"):
        checks.seeds_and_classes([1], [0], None)


@pytest.mark.parametrize(
    ("data", "num_classes", "message"),
    [
        ((np.zeros((1, 2)),), 3, r"on \(images, labels\)"),
        ((np.zeros((1, 2)), np.zeros(1)), None, r"on images.*\(1, 2\), \(1,\)"),
        ((np.zeros(1),) * 3, 3, r"on \(images, labels\)"),
        ((np.zeros((1, 2), "uint8"),), None, "uint8. Divide 8-bit pixels"),
    ],
)
def test_refuses_batches(data, num_classes, message):
    with pytest.raises(ValueError, match=message):
        checks.batch(data, num_classes)
