import keras
import numpy as np
import pytest

from keras_attn.attention.heads.keras_names import READ
from keras_attn.attention.multi_head import MultiHeadAttention

KERAS = keras.layers.MultiHeadAttention


@pytest.fixture
def x(rng):
    return rng.normal(size=(2, 5, 6)).astype("float32")


def test_what_is_private_in_keras_can_be_read(x):
    theirs, ours = (
        cls(2, 4, value_dim=3) for cls in (KERAS, MultiHeadAttention)
    )
    theirs(x, x), ours(x, x)
    for name in READ:
        found = getattr(ours, f"_{name}")
        assert found is getattr(ours, name)
        if hasattr(theirs, f"_{name}") and not name.endswith("dense"):
            assert (found or None) == (getattr(theirs, f"_{name}") or None)


def test_not_yet_made_is_not_there():
    assert not hasattr(MultiHeadAttention(2, 4), "_query_dense")


def made(base):
    class Contrary(base):
        """Looks where it should look least, and tells what it is given."""

        def _compute_attention(
            self,
            query,
            key,
            value,
            attention_mask=None,
            training=None,
            return_attention_scores=False,
        ):
            self.mask = attention_mask
            return super()._compute_attention(
                -query,
                key,
                value,
                attention_mask,
                training,
                return_attention_scores,
            )

    return Contrary


MASKS = {
    "none": {},
    "causal": {"use_causal_mask": True},
    "padding": {"value_mask": np.arange(5) < np.array([[5], [3]])},
    "heads": {"attention_mask": np.tri(5)[None, None] > 0},
    "all": {
        "use_causal_mask": True,
        "value_mask": np.arange(5) < np.array([[5], [3]]),
        "attention_mask": np.random.default_rng(1).random((2, 5, 5)) < 0.8,
    },
}


@pytest.mark.parametrize("case", MASKS)
@pytest.mark.parametrize("scores", [True, False], ids=["weights", "output"])
def test_an_overridden_attention_is_used_as_keras_uses_it(case, scores, x):
    init = {"sliding_window": 3} if case == "all" else {}
    theirs, ours = (
        made(cls)(2, 4, **init) for cls in (KERAS, MultiHeadAttention)
    )
    call = {**MASKS[case], "return_attention_scores": scores}
    theirs(x, x, **call), ours(x, x, **call)
    ours.set_weights(theirs.get_weights())
    for found, expected in zip(
        keras.tree.flatten(ours(x, x, **call)),
        keras.tree.flatten(theirs(x, x, **call)),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    if theirs.mask is None:
        assert ours.mask is None
    else:
        shape = (2, *theirs.mask.shape[1:])  # Keras may keep an axis of heads
        assert np.all(np.broadcast_to(ours.mask, shape) == theirs.mask)


def test_padded_queries_are_in_the_mask_that_an_override_gets(x):
    layer = made(MultiHeadAttention)(2, 4)
    real = np.arange(5) < np.array([[5], [3]])
    layer(x, x, query_mask=real)
    np.testing.assert_array_equal(
        np.broadcast_to(layer.mask, (2, 5, 5)),
        np.broadcast_to(real[:, :, None], (2, 5, 5)),
    )


def test_an_override_is_not_passed_by(x):
    layer = made(MultiHeadAttention)(2, 4)
    layer(x, x)
    message = "Contrary overrides `_compute_attention`, which `{}` cannot use"
    with pytest.raises(ValueError, match=message.format("prefill")):
        layer.prefill(x, [5, 5], 1)
    with pytest.raises(ValueError, match=message.format("step")):
        layer.step(x[:, 0], layer.empty_cache(2, 3), [0, 0])
    with pytest.raises(ValueError, match=message.format("attend_memory")):
        layer.attend_memory(x[:, :1], layer.project_memory(x))
    with pytest.raises(ValueError, match=r"overridden.*rank 4"):
        made(MultiHeadAttention)(2, 4)(x[:, None], x[:, None])
