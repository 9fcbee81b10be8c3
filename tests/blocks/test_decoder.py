import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.modifiers import QKNorm
from keras_attn.modifiers import Rotary
from tests.blocks import equations
from tests.contract import check_layer
from tests.contract import check_mask_goes_on

MASK = np.array([[True] * 5, [True] * 3 + [False] * 2])
MEMORY_MASK = np.array([[True] * 3 + [False], [True] * 2 + [False] * 2])


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


@pytest.fixture
def memory(rng):
    return rng.normal(size=(2, 4, 8)).astype("float32")


POST = {"num_heads": 2, "hidden_dim": 7}
PRE = {
    **POST,
    "norm": "pre",
    "normalization": "rms",
    "epsilon": 1e-4,
    "activation": "swiglu",
    "use_bias": False,
    "dropout": 0.1,
    "attention": {"key_dim": 4, "modifiers": ["rotary"]},
    "layer_scale": 0.1,
    "stochastic_depth": 0.1,
    "kernel_initializer": "he_normal",
}


BOTH = {**POST, "norm": "both", "normalization": "rms"}


@pytest.mark.parametrize(
    ("init", "with_memory"),
    [(POST, True), (PRE, True), (POST, False), (BOTH, False)],
    ids=["post", "pre_with_all_arguments", "alone", "both"],
)
def test_contract(init, with_memory, inputs, memory, tmp_path):
    given = {"inputs": inputs, "memory": memory}
    check_layer(
        DecoderBlock,
        init,
        given if with_memory else {"inputs": inputs},
        output_shape=(2, 5, 6),
        tmp_path=tmp_path,
        # What all keys share cancels in the softmax.
        powerless=["key/bias"],
    )
    check_mask_goes_on(DecoderBlock(**init), inputs)


@pytest.mark.parametrize("norm", ["post", "pre", "both"])
@pytest.mark.parametrize("normalization", ["layer", "rms"])
def test_matches_the_equation(norm, normalization, inputs, memory, rng):
    block = DecoderBlock(2, 7, norm=norm, normalization=normalization)
    block.build(inputs.shape, memory.shape)
    equations.randomise(block, rng)
    kind = {"norm": norm, "normalization": normalization}
    seen = []

    def attend(x):
        output, weights = equations.attend(
            block.self_attention, x, x, MASK, causal=True
        )
        seen.append(weights)
        return output

    def look_back(x):
        output, weights = equations.attend(
            block.cross_attention, x, memory, MEMORY_MASK
        )
        seen.append(weights)
        return output

    x = inputs.astype("float64")
    y = equations.residual(block.attention_residual, x, attend, **kind)
    z = equations.residual(block.cross_residual, y, look_back, **kind)
    expected = equations.residual(
        block.feed_forward_residual,
        z,
        lambda z: equations.feed_forward(block.feed_forward, z, "relu"),
        **kind,
    )
    output, *weights = block(
        inputs,
        memory,
        mask=MASK,
        memory_mask=MEMORY_MASK,
        return_attention_scores=True,
    )
    np.testing.assert_allclose(output[MASK], expected[MASK], atol=1e-5)
    assert [tuple(w.shape) for w in weights] == [(2, 2, 5, 5), (2, 2, 5, 4)]
    for ours, theirs in zip(weights, seen, strict=True):
        real = np.broadcast_to(MASK[:, None, :, None], ours.shape)
        np.testing.assert_allclose(ours[real], theirs[real], atol=1e-5)


def test_asking_for_the_weights_changes_nothing(inputs, memory):
    block = DecoderBlock(2, 7)
    expected = block(inputs, memory)
    output, _, _ = block(inputs, memory, return_attention_scores=True)
    np.testing.assert_allclose(output, expected, atol=1e-6)
    alone = DecoderBlock(2, 7)
    expected = alone(inputs)
    output, weights = alone(inputs, return_attention_scores=True)
    np.testing.assert_allclose(output, expected, atol=1e-6)
    assert weights.shape == (2, 2, 5, 5)


def test_no_position_sees_the_future_unless_it_may(inputs):
    block = DecoderBlock(2, 7)
    changed = inputs.copy()
    changed[:, 3:] += 1.0
    before, after = block(inputs), block(changed)
    np.testing.assert_allclose(before[:, :3], after[:, :3], atol=1e-6)
    before, after = (block(x, use_causal_mask=False) for x in (inputs, changed))
    assert np.abs(before - after)[:, :3].max() > 1e-2


def test_masks_arrive_by_themselves_and_stay_where_they_were(inputs, memory):
    block = DecoderBlock(2, 7)
    tensors = tf.constant(inputs), tf.constant(memory)
    masks = tf.constant(MASK), tf.constant(MEMORY_MASK)
    for tensor, mask in zip(tensors, masks, strict=True):
        tensor._keras_mask = mask
    output, own, cross = block(*tensors, return_attention_scores=True)
    for tensor, mask in zip(tensors, masks, strict=True):
        assert tensor._keras_mask is mask
    np.testing.assert_array_equal(output._keras_mask, MASK)
    hidden = ~MASK[:, None, None].repeat(2, 1).repeat(5, 2)
    assert np.all(own[hidden] == 0)
    hidden = ~MEMORY_MASK[:, None, None].repeat(2, 1).repeat(5, 2)
    assert np.all(cross[hidden] == 0)


@pytest.mark.parametrize(
    "init",
    [
        {},
        {"norm": "pre", "normalization": "rms", "activation": "swiglu"},
        {"norm": "both", "normalization": "rms", "activation": "geglu_tanh"},
        {
            "attention": {
                "key_dim": 4,
                "num_kv_heads": 1,
                "sliding_window": 2,
                "modifiers": [QKNorm(), Rotary()],
            },
            "layer_scale": 0.5,
            "dropout": 0.3,
            "stochastic_depth": 0.3,
        },
    ],
    ids=["post", "pre", "both", "modified"],
)
@pytest.mark.parametrize("with_memory", [True, False], ids=["memory", "alone"])
def test_steps_equal_the_call(init, with_memory, inputs, memory, rng):
    block = DecoderBlock(2, 7, **init)
    block.build(inputs.shape, *([memory.shape] if with_memory else []))
    equations.randomise(block, rng)
    kept = weights = None
    if with_memory:
        expected, _, weights = block(
            inputs,
            memory,
            memory_mask=MEMORY_MASK,
            return_attention_scores=True,
        )
        kept = block.project_memory(memory, mask=MEMORY_MASK)
        options = {"memory": kept}
        cache, start = block.self_attention.empty_cache(2, 5), [0, 0]
    else:
        expected, options = block(inputs), {}
        start = [1, 3]
        output, cache = block.prefill(tf.constant(inputs[:, :3]), start, 5)
        for row, length in enumerate(start):
            np.testing.assert_allclose(
                output[row, :length], expected[row, :length], atol=1e-5
            )
    for step in range(5 - max(start)):
        positions = np.array(start) + step
        token = inputs[np.arange(2), positions]
        output, cache, looked = block.step(token, cache, positions, **options)
        for row, position in enumerate(positions):
            np.testing.assert_allclose(
                output[row], expected[row, position], atol=1e-5
            )
            if with_memory:
                np.testing.assert_allclose(
                    looked[row, :, 0], weights[row, :, position], atol=1e-5
                )
            else:
                assert looked is None


def test_a_mixed_policy_steps_in_its_compute_dtype(inputs, memory):
    block = DecoderBlock(2, 7, norm="pre", dtype="mixed_bfloat16")
    expected = block(inputs, memory)
    x = tf.cast(inputs[:, 0], "bfloat16")
    cache = block.self_attention.empty_cache(2, 5)
    kept = block.project_memory(tf.cast(memory, "bfloat16"))
    output, cache, _ = block.step(x, cache, [0, 0], kept)
    assert output.dtype == cache.carried["key"].dtype == "bfloat16"
    np.testing.assert_allclose(
        tf.cast(output, "float32"),
        tf.cast(expected[:, 0], "float32"),
        atol=3e-2,
    )


def test_a_memory_is_given_always_or_never(inputs, memory):
    alone, reader = DecoderBlock(2, 7), DecoderBlock(2, 7)
    alone(inputs)
    reader(inputs, memory)
    with pytest.raises(ValueError, match=r"built without a memory.*with one"):
        alone(inputs, memory)
    with pytest.raises(ValueError, match="built without a memory"):
        alone.project_memory(memory)
    with pytest.raises(ValueError, match=r"built with a memory.*without one"):
        reader(inputs)
    with pytest.raises(ValueError, match="built with a memory"):
        reader.prefill(inputs, [5, 5], 7)
    with pytest.raises(ValueError, match="built with a memory"):
        cache = reader.self_attention.empty_cache(2, 5)
        reader.step(inputs[:, 0], cache, [0, 0])


def test_statistics_of_a_batch_are_refused(inputs):
    block = DecoderBlock(2, 7, normalization="batch")
    with pytest.raises(ValueError, match='takes no normalization="batch"'):
        block(inputs)


def test_cross_attention_has_modifiers_of_its_own(inputs, memory, tmp_path):
    target, source = keras.Input((None, 6)), keras.Input((None, 8))
    block = DecoderBlock(2, 7, attention={"modifiers": [QKNorm()]})
    model = keras.Model([target, source], block(target, source))
    scales = [w for w in block.weights if w.path.endswith("query_scale")]
    assert len(scales) == 2
    scales[1].assign([3.0, 0.5, 2.0])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    given = [inputs, memory]
    np.testing.assert_allclose(loaded(given), model(given), atol=1e-6)
