import numpy as np
import pytest

from keras_attn.models.rnn_seq2seq.initial_state import InitialState


@pytest.mark.parametrize("kind", ["final", "backward"])
def test_each_state_of_each_layer_starts_from_its_own_directions(kind, rng):
    final = [rng.normal(size=(2, 4)) for _ in range(8)]
    layer = InitialState(
        kind, 4, states_of_layer=2, bidirectional=True, dtype="float64"
    )
    states = layer(final)
    # Of each layer: →h, →c, ←h, ←c.
    pairs = [(0, 2), (1, 3), (4, 6), (5, 7)]
    for state, dense, pair in zip(
        states, layer.dense_layers, pairs, strict=True
    ):
        pair = pair if kind == "final" else pair[1:]
        x = np.concatenate([final[i] for i in pair], axis=-1)
        kernel, bias = (np.array(weight) for weight in dense.weights)
        np.testing.assert_allclose(state, np.tanh(x @ kernel + bias))


def test_one_direction_goes_on_as_it_is(rng):
    final = [rng.normal(size=(2, 4)).astype("float32") for _ in range(4)]
    layer = InitialState("final", 4, states_of_layer=2)
    for state, given in zip(layer(final), final, strict=True):
        np.testing.assert_array_equal(state, given)
    assert not layer.weights
    np.testing.assert_array_equal(layer.last_hidden(final), final[2])


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="reads backwards too"):
        InitialState("backward", 4)
    with pytest.raises(ValueError, match=r"'final'.*Received: initial_state"):
        InitialState("last", 4)
