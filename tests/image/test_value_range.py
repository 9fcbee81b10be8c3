import numpy as np
import pytest

from keras_attn.image.value_range import check_value_range
from keras_attn.image.value_range import to_value_range


def test_black_and_white_become_the_ends_of_the_range():
    levels = np.array([0.0, 0.25, 1.0])
    np.testing.assert_allclose(to_value_range(levels, (-1, 1)), [-1, -0.5, 1])
    np.testing.assert_allclose(
        to_value_range(levels, (0, 255)), [0, 63.75, 255]
    )


@pytest.mark.parametrize("value_range", [(1, 0), (1, 1)])
def test_a_range_without_width_is_refused(value_range):
    with pytest.raises(ValueError, match=r"`value_range` .* Received: \(1, "):
        check_value_range(value_range)
