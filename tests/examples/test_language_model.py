import collections
import math

import pytest

from examples import language_model

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
def test_learns_more_than_how_common_each_character_is(capsys):
    document = language_model.read_text(SHRUNK)
    counts = collections.Counter(document)
    shares = [count / len(document) for count in counts.values()]
    constant = -sum(share * math.log(share) for share in shares)  # 2.9 nats
    assert language_model.main(SHRUNK) < 0.7 * constant
    printed = capsys.readouterr().out
    assert "nats for each character" in printed
    assert printed.rstrip().splitlines()[-1]
