"""What a model that writes has."""

import keras
import pytest

from keras_attn.decoding import protocol
from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.models import BERT
from keras_attn.models import GPT
from keras_attn.models import Transformer

SIZES = {"num_layers": 1, "num_heads": 1, "units": 2}


class Writer:
    forced_end_id = 3

    def encode(self, inputs, max_length):
        return inputs

    def step(self, token, state, index):
        return token, state


def test_models_are_told_by_their_methods():
    gpt, transformer = GPT(5, **SIZES), Transformer(5, **SIZES)
    for model in (gpt, transformer, Writer()):
        assert isinstance(model, GenerativeModel)
        protocol.check_generative(model)
    assert not isinstance(BERT(5, **SIZES), GenerativeModel)
    assert protocol.continues_prompts(gpt)
    assert not protocol.continues_prompts(transformer)
    assert not protocol.continues_prompts(Writer())


def test_a_model_may_force_an_end():
    assert protocol.forced_end_id(Writer()) == 3
    assert protocol.forced_end_id(GPT(5, **SIZES)) is None
    ending = Transformer(5, forced_end_id=2, **SIZES)
    assert protocol.forced_end_id(ending) == 2


def test_a_model_that_cannot_write_gets_a_sentence():
    with pytest.raises(ValueError, match="Dense has no `encode`"):
        protocol.check_generative(keras.layers.Dense(2))

    class Reader:
        encode = Writer.encode

    with pytest.raises(ValueError, match="Reader has no `step`"):
        protocol.check_generative(Reader())


def test_what_stands_before_the_last_token_of_a_prompt():
    inputs = {"tokens": [[5, 6, 7], [8, 0, 0]], "lengths": [2, 0]}
    found = protocol.earlier_tokens(inputs)
    assert found.numpy().tolist() == [[5, 6, -1], [-1, -1, -1]]
    assert protocol.earlier_tokens([[5, 6]]) is None
