import pytest

from keras_attn.models.gpt.model import GPT
from tests.models.counting import count

COUNTS = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
}


@pytest.mark.parametrize("name", GPT.presets)
def test_every_preset_has_its_published_number_of_parameters(name):
    assert count(GPT, name) == COUNTS[name]
