import pytest

from keras_attn.training.accelerator import compile_only


@pytest.mark.parametrize("name", compile_only.GPUS)
def test_a_gpu_is_described_as_a_text_proto(name):
    gpu = compile_only.GPUS[name]
    text = compile_only.gpu_description(gpu)
    assert text.count("{") == text.count("}") == 3
    assert f"device_memory_size: {gpu['device_memory_size']} " in text
    assert f'device_description_str: "{gpu["name"]}"' in text
    assert "name: " not in text.split("platform_name")[0]
