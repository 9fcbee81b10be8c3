import numpy as np
import pytest

from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.transformer.model import Transformer
from tests.models.stepping import set_random

SOURCE = np.array([[3, 4, 5, 6, 7], [8, 9, 3, 0, 0]])
TARGET = np.array([[2, 3, 4], [5, 6, 7]])


@pytest.fixture
def model(rng):
    model = Transformer(
        11, num_layers=1, num_decoder_layers=3, num_heads=2, units=8, dropout=0
    )
    set_random(model, rng)
    return model


def test_any_layer_and_head_tells_where_it_looked(model):
    x = model.decoder.position_embedding(model.target_embedding(TARGET))
    memory, mask = model.read(SOURCE)
    for layer, block in enumerate(model.decoder.blocks):
        x, _, weights = block(
            x, memory, memory_mask=mask, return_attention_scores=True
        )
        for head in range(2):
            found = model.alignment(SOURCE, TARGET, layer=layer, head=head)
            np.testing.assert_allclose(found, weights[:, head], atol=1e-5)
        mean = model.alignment(SOURCE, TARGET, layer=layer)
        np.testing.assert_allclose(mean, np.mean(weights, axis=1), atol=1e-5)
    last = model.alignment(SOURCE, TARGET)
    np.testing.assert_array_equal(last, mean)
    first = model.alignment(SOURCE, TARGET, layer=-3, head=-1)
    np.testing.assert_array_equal(
        first, model.alignment(SOURCE, TARGET, layer=0, head=1)
    )


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        ({"layer": 3}, "`layer` is one of 3.*layer=3"),
        ({"layer": -4}, "`layer` is one of 3.*layer=-4"),
        ({"head": 2}, "`head` is one of 2.*head=2"),
        ({"head": "mean"}, "`head` must be an integer"),
    ],
)
def test_a_layer_or_head_that_there_is_not_is_refused(model, chosen, complaint):
    with pytest.raises(ValueError, match=complaint):
        model.alignment(SOURCE, TARGET, **chosen)


def test_a_subclass_says_how_it_reads(model):
    with pytest.raises(NotImplementedError):
        EncoderDecoder.read(model, SOURCE)
