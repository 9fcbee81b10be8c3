import numpy as np
import pytest

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.models.rnn_seq2seq.decoder import RecurrentDecoder


def test_what_is_no_input_for_a_maxout_is_refused():
    for options in (
        {},
        {"attention": AdditiveAttention(3), "context": "readout"},
    ):
        with pytest.raises(ValueError, match="The maxout reads the context"):
            RecurrentDecoder("gru", 4, readout="maxout", **options)


def test_a_constant_context_is_the_last_state_of_each_direction(rng):
    final = [rng.normal(size=(2, 4)) for _ in range(8)]
    decoder = RecurrentDecoder(
        "lstm",
        4,
        num_layers=2,
        bidirectional=True,
        constant_context=True,
        dtype="float64",
    )
    memory = rng.normal(size=(2, 6, 8))
    inputs = rng.normal(size=(2, 3, 5))
    assert decoder(inputs, memory, final).shape == (2, 3, 4)
    states, constant = decoder.start(memory, final)
    # Of each layer: →h, →c, ←h, ←c.
    wanted = np.concatenate([final[4], final[6]], axis=-1)
    np.testing.assert_allclose(constant["context"], wanted)
    assert len(states) == 4
