import pytest

from tests.training.published import PUBLISHED
from tests.training.published import check_decoding
from tests.training.published import check_training

pytestmark = pytest.mark.accelerator


# Tiles of 8 × 128 numbers are half empty where a kernel is narrow.
PADDING = {"sagan": 2.5}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_trains_in_bfloat16(name):
    check_training(name, "v5e:2x2", PADDING.get(name, 1.02))


def test_a_published_model_decodes():
    check_decoding("v5e:2x2")
