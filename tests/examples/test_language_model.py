import collections
import dataclasses
import math

import pytest

from examples import language_model
from keras_attn.text import CharacterTokenizer
from keras_attn.text.special_tokens import DEFAULT

SHRUNK = language_model.Config(
    length=32,
    num_layers=2,
    units=64,
    batch_size=32,
    steps=400,
    learning_rate=3e-3,
    num_written=20,
)


@pytest.mark.slow
# Keras warns at the end of every dataset whose size it cannot know.
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize("model", ["gpt", "rnn"])
def test_learns_more_than_how_common_each_character_is(model, capsys):
    config = dataclasses.replace(SHRUNK, model=model)
    document = language_model.read_text(config)
    counts = collections.Counter(document)
    shares = [count / len(document) for count in counts.values()]
    constant = -sum(share * math.log(share) for share in shares)  # 2.9 nats
    assert language_model.main(config) < 0.7 * constant
    printed = capsys.readouterr().out
    assert "nats for each character" in printed
    assert printed.rstrip().splitlines()[-1]


def test_the_recurrent_model_is_as_large():
    tokenizer = CharacterTokenizer([*DEFAULT, *"abcdefgh"])
    sizes = [
        language_model.build_model(
            dataclasses.replace(SHRUNK, model=model), tokenizer
        ).count_params()
        for model in ("gpt", "rnn")
    ]
    assert abs(sizes[0] - sizes[1]) < 0.01 * sizes[0]
