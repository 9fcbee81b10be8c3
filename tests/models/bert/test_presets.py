import pytest

from keras_attn.models.bert.model import BERT
from tests.models.counting import count

COUNTS = {"base": 109_482_240, "large": 335_141_888}


@pytest.mark.parametrize("name", BERT.presets)
def test_every_preset_has_its_published_number_of_parameters(name):
    assert count(BERT, name) == COUNTS[name]
