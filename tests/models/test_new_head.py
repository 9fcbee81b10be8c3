import numpy as np
import pytest

from keras_attn.models import BERT
from keras_attn.models.new_head import with_new_head
from tests.models.stepping import set_random


@pytest.fixture
def model(rng):
    model = BERT(7, num_layers=1, num_heads=2, units=4, head="masked_lm")
    set_random(model, rng)
    return model


def test_parts_are_copied_and_all_else_is_new(model):
    made = with_new_head(model, ["encoder", "pooler"], head=None, dropout=0.5)
    assert made.pooler is not None and model.pooler is None
    assert made.config["dropout"] == 0.5
    for old, new in zip(
        model.encoder.weights, made.encoder.weights, strict=True
    ):
        assert old is not new
        np.testing.assert_array_equal(old, new)
    assert np.any(
        model.embedding.get_weights()[0] != made.embedding.get_weights()[0]
    )


def test_a_quantised_model_is_refused(model):
    quantised = with_new_head(model, [], head=None)
    quantised.pooler.quantize("int8")
    with pytest.raises(ValueError, match="`with_head` first"):
        with_new_head(quantised, ["encoder"], head=None)
