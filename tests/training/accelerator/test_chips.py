import json

import pytest

from keras_attn.training.accelerator import chips


def test_a_chip_is_found_by_its_name():
    assert chips.find("v5e").topology == ("v5e:2x2", "v5litepod-4")
    assert chips.find("v5e:2x2") is chips.find("v5e")
    with pytest.raises(ValueError, match="target='b200'"):
        chips.find("b200")


@pytest.mark.parametrize("name", chips.CHIPS)
def test_a_chip_is_a_tpu_or_a_gpu_and_can_be_described(name):
    chip = chips.CHIPS[name]
    assert (chip.topology is None) != (chip.gpu is None)
    assert ("libtpu" in chip.packages) == (chip.gpu is None)
    assert 0.9 * chip.memory_bytes < chip.usable_bytes < chip.memory_bytes
    described = json.loads(json.dumps(chip.description()))
    assert described["usable_bytes"] == chip.usable_bytes
