import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.embeddings.token import TokenEmbedding
from tests.blocks import equations
from tests.contract import check_layer
from tests.contract import check_mask_goes_on

MASK = np.array([[True] * 5, [True] * 3 + [False] * 2])


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


@pytest.mark.parametrize(
    "init",
    [
        {"num_heads": 2, "hidden_dim": 7},
        {
            "num_heads": 2,
            "hidden_dim": 7,
            "norm": "pre",
            "normalization": "rms",
            "epsilon": 1e-4,
            "activation": "swiglu",
            "use_bias": False,
            "dropout": {"attention": 0.1, "output": 0.2},
            "attention": {
                "key_dim": 4,
                "num_kv_heads": 1,
                "modifiers": ["rotary", "alibi"],
            },
            "layer_scale": 0.1,
            "stochastic_depth": 0.1,
            "kernel_initializer": "he_normal",
        },
        pytest.param(
            {
                "num_heads": 2,
                "hidden_dim": 7,
                "norm": "pre",
                "normalization": "batch",
            },
            marks=pytest.mark.slow,
        ),
    ],
    ids=["post", "pre_with_all_arguments", "batch"],
)
def test_contract(init, inputs, tmp_path):
    check_layer(
        EncoderBlock,
        init,
        {"inputs": inputs},
        output_shape=(2, 5, 6),
        tmp_path=tmp_path,
        # What all keys share cancels in the softmax.
        powerless=["key/bias"],
    )
    check_mask_goes_on(EncoderBlock(**init), inputs)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("normalization", ["layer", "rms", "batch"])
@pytest.mark.parametrize("activation", ["relu", "geglu"])
def test_matches_the_equation(norm, normalization, activation, inputs, rng):
    block = EncoderBlock(
        2, 7, norm=norm, normalization=normalization, activation=activation
    )
    block.build(inputs.shape)
    equations.randomise(block, rng)
    expected, *seen = by_the_equation(block, inputs)
    output, weights = block(inputs, mask=MASK, return_attention_scores=True)
    np.testing.assert_allclose(output[MASK], expected[MASK], atol=1e-5)
    real = np.broadcast_to(MASK[:, None, :, None], weights.shape)
    np.testing.assert_allclose(weights[real], seen[0][real], atol=1e-5)


def by_the_equation(block, inputs, batch=None):
    """Output and attention weights, with `MASK`; `batch` as in `equations`."""
    kind = {
        "norm": block.norm,
        "normalization": block.normalization,
        "batch": batch,
    }
    activation = block.get_config()["activation"]
    seen = []

    def attend(x):
        output, weights = equations.attend(block.self_attention, x, x, MASK)
        seen.append(weights)
        return output

    x = inputs.astype("float64")
    z = equations.residual(block.attention_residual, x, attend, **kind)
    expected = equations.residual(
        block.feed_forward_residual,
        z,
        lambda z: equations.feed_forward(block.feed_forward, z, activation),
        **kind,
    )
    return expected, *seen


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_statistics_of_a_batch_leave_padding_out(
    norm, jit_compile, inputs, rng
):
    block = EncoderBlock(
        2, 7, norm=norm, normalization="batch", dtype="float64"
    )
    block.build(inputs.shape)
    equations.randomise(block, rng)
    first = (block.attention_residual.normalize, inputs.astype("float64"))
    before = [np.array(w) for w in first[0].non_trainable_weights]
    expected, _ = by_the_equation(block, inputs, batch=MASK)
    spoilt = np.where(MASK[..., None], inputs, np.nan)

    @tf.function(autograph=False, jit_compile=jit_compile)
    def step(x):
        with tf.GradientTape() as tape:
            output = block(x, mask=MASK, training=True)
            loss = tf.reduce_sum(tf.where(MASK[..., None], output, 0.0) ** 3)
        weights = [weight.value for weight in block.trainable_weights]
        return output, tape.gradient(loss, weights)

    output, gradients = step(tf.constant(spoilt, "float64"))
    # Keras adds 1e-7 to the number of positions.
    np.testing.assert_allclose(output[MASK], expected[MASK], atol=1e-6)
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    if norm == "pre":  # what is normalised first are the inputs
        layer, x = first
        batch = x[MASK].mean(axis=0), x[MASK].var(axis=0)
        for old, new, now in zip(
            before, batch, layer.non_trainable_weights, strict=True
        ):
            wanted = layer.momentum * old + (1 - layer.momentum) * new
            np.testing.assert_allclose(now, wanted, atol=1e-7)


def test_statistics_of_a_batch_are_kept_in_float32(inputs):
    far = (100 + 300 * inputs).astype("float16")  # squares are over its range
    block = EncoderBlock(
        2, 7, norm="pre", normalization="batch", dtype="mixed_float16"
    )
    output = block(far, mask=MASK, training=True)
    assert output.dtype == "float16"
    variance = block.attention_residual.normalize.moving_variance
    assert variance.dtype == "float32"
    wanted = 0.99 + 0.01 * far[MASK].astype("float64").var(axis=0)
    np.testing.assert_allclose(variance, wanted, rtol=1e-4)


def test_a_segment_of_zero_is_no_part_of_a_batch(inputs):
    options = {"norm": "pre", "normalization": "batch"}
    marked, masked = (EncoderBlock(2, 7, **options) for _ in range(2))
    marked(inputs, segments=MASK.astype("int32"), training=True)
    masked(inputs, mask=MASK, training=True)
    for ours, theirs in zip(
        marked.attention_residual.normalize.non_trainable_weights,
        masked.attention_residual.normalize.non_trainable_weights,
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_statistics_of_a_batch_and_a_causal_mask_are_refused(inputs):
    block = EncoderBlock(2, 7, normalization="batch")
    with pytest.raises(ValueError, match="does not go with `use_causal_mask`"):
        block(inputs, use_causal_mask=True)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_asking_for_the_weights_changes_nothing(norm, inputs):
    block = EncoderBlock(2, 7, norm=norm)
    expected = block(inputs)
    output, weights = block(inputs, return_attention_scores=True)
    np.testing.assert_allclose(output, expected, atol=1e-6)
    np.testing.assert_allclose(np.sum(weights, -1), 1.0, rtol=1e-5)


def test_no_position_sees_the_future_if_it_may_not(inputs):
    block = EncoderBlock(2, 7)
    _, weights = block(
        inputs, use_causal_mask=True, return_attention_scores=True
    )
    assert np.all(weights.numpy()[:, :, ~np.tri(5, dtype="bool")] == 0)


def test_a_mask_for_pairs_joins_the_one_for_padding(inputs):
    block = EncoderBlock(2, 7)
    pairs = np.ones((2, 5, 5), "bool")
    pairs[:, :, 1] = False
    tensor = tf.constant(inputs)
    tensor._keras_mask = tf.constant(MASK)
    output, weights = block(
        tensor, attention_mask=pairs, return_attention_scores=True
    )
    np.testing.assert_array_equal(output._keras_mask, MASK)
    unseen = ~(pairs & MASK[:, None])[:, None].repeat(2, axis=1)
    assert np.all(weights[unseen] == 0)
    assert np.all(weights[0][~unseen[0]] > 0)


def test_padding_leaks_through_no_stack():
    tokens = keras.Input((None,), dtype="int32")
    x = TokenEmbedding(10, 6)(tokens)
    for _ in range(3):
        x = EncoderBlock(2, 7)(x)
    model = keras.Model(tokens, x)
    sentence = np.array([[4, 2, 9]])
    padded = np.pad(sentence, [(0, 0), (0, 8)])
    np.testing.assert_allclose(model(padded)[:, :3], model(sentence), atol=1e-5)


@pytest.mark.parametrize("part", ["attention", "hidden", "output"])
def test_each_kind_of_dropout_waits_for_training(part, inputs):
    block = EncoderBlock(2, 7, norm="pre", dropout={part: 0.5})
    sure = EncoderBlock.from_config({**block.get_config(), "dropout": 0.0})
    sure.build(inputs.shape)
    block.build(inputs.shape)
    for ours, theirs in zip(
        sure.trainable_weights, block.trainable_weights, strict=True
    ):
        ours.assign(theirs)
    np.testing.assert_array_equal(block(inputs), sure(inputs))
    np.testing.assert_array_equal(sure(inputs, training=True), sure(inputs))
    dropped = block(inputs, training=True)
    assert np.abs(dropped - block(inputs)).max() > 1e-3


def test_the_weights_of_training_are_those_that_made_the_output(inputs):
    block = EncoderBlock(2, 7, dropout={"attention": 0.5})
    _, sure = block(inputs, return_attention_scores=True)
    _, weights = block(inputs, return_attention_scores=True, training=True)
    assert set(np.round(weights / sure, 3).ravel()) == {0.0, 2.0}


def test_a_scale_of_nothing_makes_the_identity(inputs):
    block = EncoderBlock(2, 7, norm="pre", layer_scale=0.0)
    np.testing.assert_array_equal(block(inputs), inputs)


def test_a_block_that_is_left_out_makes_the_identity(rng):
    x = rng.normal(size=(32, 3, 6)).astype("float32")
    block = EncoderBlock(2, 7, norm="pre", stochastic_depth=0.5)
    output = block(x, training=True)
    same = np.all(output == x, axis=(1, 2))
    # Two sublayers, each left out half of the time: a quarter.
    assert 0 < same.sum() < 20


def test_segments_are_read_as_if_alone(rng):
    x = rng.normal(size=(1, 5, 4)).astype("float32")
    block = EncoderBlock(2, 6)
    output = block(x, segments=np.array([[1, 1, 2, 2, 2]]))
    for part in (slice(0, 2), slice(2, 5)):
        np.testing.assert_allclose(
            output[:, part], block(x[:, part]), rtol=1e-5, atol=1e-5
        )
