import numpy as np
import pytest

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.models.rnn_seq2seq.decoder import RecurrentDecoder


def test_a_stack_starts_from_both_directions_of_each_layer(rng):
    final = [rng.normal(size=(2, 4)) for _ in range(8)]
    decoder = RecurrentDecoder(
        "lstm", 4, num_layers=2, bidirectional=True, dtype="float64"
    )
    decoder.build((2, 3, 5), (2, 6, 8))
    memory = rng.normal(size=(2, 6, 8))
    states, constant = decoder.start(memory, final)
    assert constant == {}
    # Of each layer: →h, →c, ←h, ←c.
    pairs = [(0, 2), (1, 3), (4, 6), (5, 7)]
    for state, bridge, (one, other) in zip(
        states, decoder.bridges, pairs, strict=True
    ):
        both = np.concatenate([final[one], final[other]], axis=-1)
        kernel, bias = (np.array(w) for w in bridge.weights)
        np.testing.assert_allclose(state, np.tanh(both @ kernel + bias))


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="reads backwards too"):
        RecurrentDecoder("gru", 4, initial_state="backward")
    for options in (
        {},
        {"attention": AdditiveAttention(3), "context": "readout"},
    ):
        with pytest.raises(ValueError, match="The maxout reads the context"):
            RecurrentDecoder("gru", 4, readout="maxout", **options)
    with pytest.raises(ValueError, match=r"'final'.*Received: initial_state"):
        RecurrentDecoder("gru", 4, initial_state="last")
