import types

import keras
import numpy as np
import pytest

from keras_attn.attention.location_sensitive import LocationSensitiveAttention
from tests.blocks import recurrences
from tests.contract import check_layer
from tests.models.stepping import set_random


@pytest.fixture
def inputs(rng):
    return {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
    }


def attention(rng, inputs, **init):
    """A layer in float64, built, with random weights."""
    layer = LocationSensitiveAttention(
        7, filters=2, kernel_size=3, dtype="float64", **init
    )
    layer.build(*(x.shape for x in inputs.values()))
    set_random(layer, rng)
    return layer


def attend(layer, query, value, mask, advance=None):
    """Chorowski et al. 2015, with the sum of Shen et al. 2018."""
    cell = types.SimpleNamespace(attention=layer, gate=False)
    location = np.zeros((*mask.shape, 2))
    location[np.arange(len(mask)), mask.argmax(-1), 0] = 1.0
    steps = []
    for t in range(query.shape[1]):
        before = location.copy()
        steps.append(
            recurrences.attend(cell, query[:, t], value, mask, location)
        )
        if advance is not None:
            location = np.where(advance[:, t, None, None], location, before)
    return [np.stack(each, axis=1) for each in zip(*steps, strict=True)]


MASK = np.array([[True] * 5, [True] * 3 + [False] * 2])


@pytest.mark.parametrize(
    "init",
    [
        {"units": 7, "filters": 2, "kernel_size": 3},
        {
            "units": 7,
            "use_bias": True,
            "key_projection": "tanh",
            "value_projection": "linear",
            "dropout": 0.1,
        },
    ],
    ids=["small", "everything"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        LocationSensitiveAttention,
        init,
        inputs,
        output_shape=(2, 3, 6),
        tmp_path=tmp_path,
    )


def test_matches_the_equations(inputs, rng):
    layer = attention(rng, inputs)
    output, weights = layer(
        **inputs, value_mask=MASK, return_attention_scores=True
    )
    expected = attend(layer, *inputs.values(), MASK)
    np.testing.assert_allclose(output, expected[0], rtol=1e-9)
    np.testing.assert_allclose(weights, expected[1], rtol=1e-9)


def test_starts_at_the_first_key_that_is_no_padding(inputs, rng):
    layer = attention(rng, inputs)
    mask = MASK[:, ::-1]
    output = layer(**inputs, value_mask=mask)
    expected, _ = attend(layer, *inputs.values(), mask)
    np.testing.assert_allclose(output, expected, rtol=1e-9)
    location = layer.start_location(
        layer.project_memory(inputs["value"], mask=mask)
    )
    np.testing.assert_array_equal(location[..., 0].numpy().argmax(-1), [0, 2])
    nothing = layer.project_memory(inputs["value"], mask=np.zeros((2, 5), bool))
    np.testing.assert_array_equal(layer.start_location(nothing), 0.0)


def test_a_padded_query_moves_nothing(inputs, rng):
    layer = attention(rng, inputs)
    real = np.array([[True, False, True], [False, True, True]])
    output = layer(**inputs, query_mask=real, value_mask=MASK).numpy()
    query = np.where(real[..., None], inputs["query"], 0)
    expected, _ = attend(layer, query, inputs["value"], MASK, advance=real)
    np.testing.assert_allclose(output[real], expected[real], rtol=1e-9)
    np.testing.assert_array_equal(output[~real], 0.0)


def test_goes_on_from_a_location(inputs, rng):
    layer = attention(rng, inputs)
    memory = layer.project_memory(inputs["value"], mask=MASK)
    whole = layer(**inputs, value_mask=MASK)
    location = layer.start_location(memory)
    for t in range(3):
        output, weights = layer.attend_memory(
            inputs["query"][:, t : t + 1],
            memory,
            location=location,
            return_attention_scores=True,
        )
        np.testing.assert_allclose(output[:, 0], whole[:, t], rtol=1e-9)
        location = layer.next_location(location, weights[:, 0])
    # What was looked at in all: as much as there were queries.
    np.testing.assert_allclose(location[..., 1].numpy().sum(-1), 3.0)


def test_masks_of_each_query_hold(inputs, rng):
    layer = attention(rng, inputs)
    mask = rng.random((2, 3, 5)) < 0.6
    mask[0, 1] = False
    _, weights = layer(
        **inputs,
        attention_mask=mask,
        use_causal_mask=True,
        return_attention_scores=True,
    )
    seen = mask & np.tri(3, 5, dtype=bool)
    np.testing.assert_array_equal(weights.numpy() > 0, seen)
    np.testing.assert_array_equal(weights[0, 1], 0.0)


def test_shifted_memories_are_attended_to_alike(inputs, rng):
    # No key knows its place: only how far it is from where attention was.
    layer = attention(rng, inputs)
    value = np.pad(inputs["value"], [(0, 0), (4, 0), (0, 0)])
    mask = np.pad(MASK, [(0, 0), (4, 0)])
    moved = layer(inputs["query"], value, value_mask=mask)
    output = layer(**inputs, value_mask=MASK)
    np.testing.assert_allclose(moved, output, rtol=1e-9)


def test_drops_others_at_each_query(rng):
    keras.utils.set_random_seed(0)
    layer = LocationSensitiveAttention(7, dropout=0.5)
    query, value = np.zeros((1, 6, 4)), rng.normal(size=(1, 9, 5))
    _, weights = layer(
        query, value, return_attention_scores=True, training=True
    )
    dropped = weights.numpy()[0] == 0
    assert len(np.unique(dropped, axis=0)) > 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_size": 4}, "odd.*kernel_size=4"),
        ({"kernel_size": 0}, "`kernel_size`.*at least 1"),
        ({"filters": 0}, "`filters`.*at least 1"),
        ({"units": 0}, "`units`.*at least 1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        LocationSensitiveAttention(**{"units": 7, **arguments})
