import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks.co_attention import CoAttentionBlock
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.models.vilbert.two_streams import TwoStreams
from tests.contract import check_layer

TEXT_MASK = np.array([[1, 1, 1], [1, 1, 0]], "bool")
REGIONS_MASK = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], "bool")


@pytest.fixture
def inputs(rng):
    return {
        "text": rng.normal(size=(2, 3, 4)).astype("float32"),
        "regions": rng.normal(size=(2, 4, 6)).astype("float32"),
    }


def make(num_text, num_regions, at, **options):
    return TwoStreams(
        [EncoderBlock(2, 5, **options) for _ in range(num_text)],
        [EncoderBlock(3, 7, **options) for _ in range(num_regions)],
        [CoAttentionBlock(2, 5, **options) for _ in at],
        co_attention_at=at,
    )


def test_contract(inputs, tmp_path):
    check_layer(
        TwoStreams,
        {
            "text_blocks": [EncoderBlock(2, 5, dropout=0.1)],
            "region_blocks": [EncoderBlock(3, 7)],
            "co_blocks": [CoAttentionBlock(2, 5)],
            "co_attention_at": [(1, 0)],
        },
        inputs,
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        padded=["text", "regions"],
        powerless=["key/bias"],
    )


def test_is_the_chain_of_its_parts(inputs):
    streams = make(3, 2, [(1, 0), (2, 2)])
    tensors = [tf.constant(x) for x in inputs.values()]
    for tensor, mask in zip(tensors, (TEXT_MASK, REGIONS_MASK), strict=True):
        tensor._keras_mask = tf.constant(mask)
    text, regions = streams(*tensors)
    masks = {"first_mask": TEXT_MASK, "second_mask": REGIONS_MASK}
    seen = {**masks, "return_attention_scores": True}
    x, y = inputs.values()
    of_text, of_regions, co = (
        streams.text_blocks,
        streams.region_blocks,
        streams.co_blocks,
    )
    x = of_text[0](x, mask=TEXT_MASK)
    x, y, *first = co[0](x, y, **seen)
    x = of_text[1](x, mask=TEXT_MASK)
    for block in of_regions:
        y = block(y, mask=REGIONS_MASK)
    x, y, *second = co[1](x, y, **seen)
    x = of_text[2](x, mask=TEXT_MASK)
    np.testing.assert_allclose(text, x, atol=1e-5)
    np.testing.assert_allclose(regions, y, atol=1e-5)
    np.testing.assert_array_equal(text._keras_mask, TEXT_MASK)
    np.testing.assert_array_equal(regions._keras_mask, REGIONS_MASK)
    again, _, forth, back = streams(*tensors, return_attention_scores=True)
    np.testing.assert_allclose(again, text, atol=1e-5)
    for got, wanted in zip(
        (*forth, *back),
        (first[0], second[0], first[1], second[1]),
        strict=True,
    ):
        np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_without_co_attention_the_streams_are_alone(inputs):
    streams = make(1, 1, [])
    text, _ = streams(**inputs)
    other, _ = streams(inputs["text"], 2 * inputs["regions"])
    np.testing.assert_array_equal(text, other)


@pytest.mark.parametrize(
    "at", [[(2, 0)], [(0, 2)], [(1, 1), (0, 1)], [(-1, 0)], [(1,)]]
)
def test_refuses_layers_that_are_not_there_or_go_back(at):
    with pytest.raises(ValueError, match=r"rising from .* to at most \(1, 1\)"):
        make(1, 1, at)


def test_refuses_places_without_blocks():
    with pytest.raises(ValueError, match="`co_attention_at` must be pairs"):
        TwoStreams([EncoderBlock(2, 5)], [], [], co_attention_at=[(1, 0)])
