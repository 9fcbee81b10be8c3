import pytest

from keras_attn.training import compile_only

KIND = "tensor<2x?xf32>"


@pytest.mark.parametrize(
    "copy",
    [
        f"mhlo.copy %arg0 : {KIND}",
        f'mhlo.copy %arg0 {{mhlo.sharding = ""}} : {KIND}',
        f'"mhlo.copy"(%arg0) : ({KIND}) -> {KIND}',
        f'"mhlo.copy"(%arg0) {{mhlo.sharding = ""}} : ({KIND}) -> {KIND}',
    ],
    ids=[
        "short",
        "short_with_attributes",
        "generic",
        "generic_with_attributes",
    ],
)
def test_a_copy_becomes_a_reshape_to_the_same_shape(copy):
    before, after = "%0 = mhlo.add %a, %b\n%1 = ", "\nreturn %1"
    reshape = f"stablehlo.reshape %arg0 : ({KIND}) -> {KIND}"
    module = compile_only.without_copies(before + copy + after)
    assert module == before + reshape + after


@pytest.mark.parametrize("name", compile_only.GPUS)
def test_a_gpu_is_described_as_a_text_proto(name):
    gpu = compile_only.GPUS[name]
    text = compile_only.gpu_description(gpu)
    assert text.count("{") == text.count("}") == 3
    assert f"device_memory_size: {gpu['device_memory_size']} " in text
    assert f'device_description_str: "{gpu["name"]}"' in text
    assert "name: " not in text.split("platform_name")[0]
