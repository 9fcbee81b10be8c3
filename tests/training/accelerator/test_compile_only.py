import pytest

from keras_attn.training.accelerator import chips
from keras_attn.training.accelerator import compile_only

GPUS = [name for name, chip in chips.CHIPS.items() if chip.gpu]


@pytest.mark.parametrize("name", GPUS)
def test_a_gpu_is_described_as_a_text_proto(name):
    chip = chips.CHIPS[name].description()
    text = compile_only.gpu_description(chip)
    assert text.count("{") == text.count("}") == 3
    assert f"device_memory_size: {chip['memory_bytes']} " in text
    assert f'device_description_str: "{chip["gpu"]["name"]}"' in text
    assert text.count("threads_per_core_limit: ") == 1
    assert "name: " not in text.split("platform_name")[0]
