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


def published(name):
    """A model that attends by the kernel where it can be told to."""
    if name in ATTEND:
        return ATTEND[name](attention={"implementation": "fused"})
    return PUBLISHED[name]()


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_model_trains_in_bfloat16(name):
    model, batch = published(name)
    found = check_training(model, batch, "v5e", PADDING.get(name, 1.02))
    assert found.lowered_by.startswith("tensorflow-tpu")


@pytest.mark.parametrize("name", [*ATTEND, "recurrent"])
def test_the_ordinary_build_lowers_it_too(monkeypatch, name):
    def compile_nothing(target, module, timeout):
        kernels = module.count("@tpu_custom_call(")
        assert (kernels > 0) == (name in ATTEND)
        return {"fits": True, "reason": "", "compile_seconds": 0.0}

    monkeypatch.setattr(lower, "tpu_python", lambda: None)
    monkeypatch.setattr(check, "_compile_elsewhere", compile_nothing)
    model, batch = published(name)
    found = accelerator_check_model(model, batch, target="v5e")
    assert found.lowered_by.startswith("tensorflow 2.")


def test_a_published_model_decodes():
    check_decoding("v5e")
