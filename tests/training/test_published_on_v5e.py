import pytest

from keras_attn.training import accelerator_check_model
from keras_attn.training.accelerator import check
from keras_attn.training.accelerator import lower
from tests.training.published import ATTEND
from tests.training.published import PUBLISHED
from tests.training.published import check_decoding
from tests.training.published import check_training

pytestmark = pytest.mark.accelerator


# Tiles of 8 × 128 numbers are half empty where a kernel is narrow.
PADDING = {"sagan": 2.5}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_trains_in_bfloat16(monkeypatch, name):
    options = {}
    if name in ATTEND:
        options["attention"] = {"implementation": "fused"}
    model, batch = PUBLISHED[name](**options)
    found = check_training(model, batch, "v5e", PADDING.get(name, 1.02))
    assert found.lowered_by.startswith("tensorflow-tpu")

    # The ordinary build lowers it too.
    def compile_nothing(target, module, timeout):
        kernels = module.count("@tpu_custom_call(")
        assert (kernels > 0) == (name in ATTEND)
        return {"fits": True, "reason": "", "compile_seconds": 0.0}

    monkeypatch.setattr(lower, "tpu_python", lambda: None)
    monkeypatch.setattr(check, "_compile_elsewhere", compile_nothing)
    found = accelerator_check_model(model, batch, target="v5e")
    assert found.lowered_by.startswith("tensorflow 2.")


def test_a_published_model_decodes():
    check_decoding("v5e")
