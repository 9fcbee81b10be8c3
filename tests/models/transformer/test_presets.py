import pytest

from keras_attn.models.transformer.model import Transformer
from tests.models.counting import count

# With one tied embedding of 37,000 tokens.
COUNTS = {"base": 63_082_496, "big": 214_245_376}


@pytest.mark.parametrize("name", Transformer.presets)
def test_every_preset_has_its_published_number_of_parameters(name):
    assert count(Transformer, name, vocabulary_size=37_000) == COUNTS[name]


def test_the_transformer_of_torch_has_as_many_parameters():
    vocabulary_size = 10
    with_embedding = count(
        Transformer, "base", final_norm=True, vocabulary_size=vocabulary_size
    )
    assert with_embedding - vocabulary_size * 512 == 44_140_544


def test_a_whole_model_has_as_many_parameters_as_are_counted():
    sizes = {"units": 4, "num_heads": 2, "hidden_dim": 6, "num_layers": 3}
    model = Transformer(7, **sizes)
    counted = count(Transformer, "base", vocabulary_size=7, **sizes)
    assert model.count_params() == counted
