import keras
import numpy as np
import pytest

from keras_attn.models.vit.head import VisionHead


@pytest.fixture
def tokens(rng):
    return rng.normal(size=(2, 5, 3)).astype("float32")


def logits_of(dense, vector):
    kernel, bias = dense.get_weights()
    return vector @ kernel + bias


def test_reads_the_class_token(tokens):
    head = VisionHead(4)
    expected = logits_of(_built(head, tokens).class_dense, tokens[:, 0])
    np.testing.assert_allclose(head(tokens), expected, atol=1e-5)


def test_the_mean_is_that_of_the_patches(tokens):
    head = VisionHead(None, pooling="mean", num_class_tokens=2)
    expected = tokens[:, 2:].mean(axis=1)
    np.testing.assert_allclose(head(tokens), expected, atol=1e-6)


def test_attention_weighs_the_patches(tokens):
    head = VisionHead(None, pooling="attention", num_class_tokens=1)
    pooled = head(tokens)
    pooling = head.attention_pooling
    _, weights = pooling(tokens[:, 1:], return_attention_scores=True)
    expected = np.einsum("bk,bkf->bf", weights, tokens[:, 1:])
    np.testing.assert_allclose(pooled, expected, atol=1e-6)
    assert np.ptp(weights) > 0.01


def test_two_class_tokens_have_a_head_each_and_are_averaged(tokens):
    head = _built(VisionHead(4, num_class_tokens=2), tokens)
    by_class = logits_of(head.class_dense, tokens[:, 0])
    by_teacher = logits_of(head.distillation_dense, tokens[:, 1])
    each = head.each(tokens)
    np.testing.assert_allclose(each["class"], by_class, atol=1e-5)
    np.testing.assert_allclose(each["distillation"], by_teacher, atol=1e-5)
    np.testing.assert_allclose(
        head(tokens), (by_class + by_teacher) / 2, atol=1e-5
    )


def test_the_second_class_token_may_be_read_by_nobody(tokens, rng):
    head = VisionHead(4, num_class_tokens=2, distillation_head=False)
    by_class = logits_of(_built(head, tokens).class_dense, tokens[:, 0])
    assert list(head.each(tokens)) == ["class"]
    np.testing.assert_allclose(head(tokens), by_class, atol=1e-5)
    other = tokens.copy()
    other[:, 1:] = rng.normal(size=other[:, 1:].shape)
    np.testing.assert_array_equal(head(other), head(tokens))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float64", "bfloat16"])
def test_logits_are_as_exact_as_the_weights(policy, tokens):
    head = VisionHead(4, dtype=policy)
    stored = keras.dtype_policies.get(policy).variable_dtype
    assert head(tokens).dtype == stored
    assert all(weight.dtype == stored for weight in head.weights)


def test_comes_back_from_its_config():
    head = VisionHead(4, num_class_tokens=2, kernel_initializer="zeros")
    config = head.get_config()
    assert VisionHead.from_config(config).get_config() == config


def test_weights_mean_the_same_in_a_head_that_reads_the_same():
    head = VisionHead(4)
    assert head.reads_like(VisionHead(4))
    assert not head.reads_like(VisionHead(5))
    assert not head.reads_like(VisionHead(4, pooling="mean"))
    two = VisionHead(4, num_class_tokens=2)
    assert not head.reads_like(two)
    one_read = VisionHead(4, num_class_tokens=2, distillation_head=False)
    assert not one_read.reads_like(two)
    assert not head.reads_like(None)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"num_classes": 0}, "`num_classes` must be"),
        ({"num_classes": 4, "pooling": "max"}, "`pooling` must be one of"),
        ({"num_classes": 4, "num_class_tokens": 3}, "num_class_tokens=3"),
        ({"num_classes": 4, "num_class_tokens": 0}, "num_class_tokens=0"),
    ],
)
def test_refuses_to_be_made(init, message):
    with pytest.raises(ValueError, match=message):
        VisionHead(**init)


def test_without_classes_there_are_no_logits(tokens):
    head = _built(VisionHead(None), tokens)
    with pytest.raises(ValueError, match="make it with `num_classes`"):
        head.each(tokens)


def _built(head, tokens):
    head.build(tokens.shape)
    return head
