import pytest

from keras_attn.models import presets
from keras_attn.models.bert.model import BERT
from keras_attn.models.gpt.model import GPT
from keras_attn.models.transformer.model import Transformer

CLASSES = {cls.__name__: cls for cls in (Transformer, GPT, BERT)}
# A Transformer has one tied embedding of 37,000 tokens.
COUNTS = {
    ("Transformer", "base"): 63_082_496,
    ("Transformer", "big"): 214_245_376,
    ("GPT", "gpt2"): 124_439_808,
    ("GPT", "gpt2-medium"): 354_823_168,
    ("GPT", "gpt2-large"): 774_030_080,
    ("GPT", "gpt2-xl"): 1_557_611_200,
    ("BERT", "base"): 109_482_240,
    ("BERT", "large"): 335_141_888,
}


def count(model_class, name, **overrides):
    """Count a preset's parameters without making gigabytes of them.

    The count is linear in layers and in tokens, so models of one or two of
    each tell all.
    """
    given = {**model_class.presets[name], **overrides}

    def made(num_layers, vocabulary_size):
        return model_class.from_preset(
            name,
            **overrides
            | {"num_layers": num_layers, "vocabulary_size": vocabulary_size},
        ).count_params()

    least = made(1, 1)
    layer, token = made(2, 1) - least, made(1, 2) - least
    layers, tokens = given["num_layers"], given["vocabulary_size"]
    return least + (layers - 1) * layer + (tokens - 1) * token


@pytest.mark.parametrize(
    ("model", "name"),
    [(model, name) for model in CLASSES for name in CLASSES[model].presets],
)
def test_every_preset_has_its_published_number_of_parameters(model, name):
    vocabulary = {"vocabulary_size": 37_000} if model == "Transformer" else {}
    assert count(CLASSES[model], name, **vocabulary) == COUNTS[model, name]


def test_every_model_has_the_table_of_its_name():
    for name, model_class in CLASSES.items():
        assert model_class.presets is getattr(presets, name.upper())


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
