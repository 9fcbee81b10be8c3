import pytest

from tests.training.published import PUBLISHED
from tests.training.published import check_decoding
from tests.training.published import check_training

pytestmark = pytest.mark.accelerator


# No compile of SAGAN for this chip has been waited for to its end.
COMPILED = [name for name in PUBLISHED if name != "sagan"]


@pytest.mark.parametrize("name", COMPILED)
def test_a_published_model_trains_in_bfloat16(name):
    check_training(name, "v5e:2x2")


def test_a_published_model_decodes():
    check_decoding("v5e:2x2")
