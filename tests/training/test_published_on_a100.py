import pytest

from tests.training.published import PUBLISHED
from tests.training.published import check_decoding
from tests.training.published import check_training

pytestmark = pytest.mark.accelerator


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_trains_in_bfloat16(name):
    check_training(*PUBLISHED[name](), "a100")


def test_a_published_model_decodes():
    check_decoding("a100")
