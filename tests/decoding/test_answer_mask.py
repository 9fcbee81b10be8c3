"""Which tokens of a row are its answer."""

import tensorflow as tf

from keras_attn.decoding.answer_mask import answer_mask
from keras_attn.decoding.answer_mask import is_end

TOKENS = tf.constant([[3, 0, 0, 0], [0, 0, 0, 0], [1, 2, 3, 4]])


def test_an_answer_goes_up_to_its_end():
    assert answer_mask(TOKENS, 0).numpy().sum(-1).tolist() == [2, 1, 4]
    assert (
        answer_mask(TOKENS, 0).numpy()[0].tolist() == [True] * 2 + [False] * 2
    )
    assert answer_mask(TOKENS, -1).numpy().all()


def test_or_to_its_limit():
    mask = answer_mask(TOKENS, 0, [[1], [0], [3]])
    assert mask.numpy().sum(-1).tolist() == [1, 0, 3]


def test_any_of_several_ends_is_one():
    mask = answer_mask(TOKENS, (0, 2))
    assert mask.numpy().sum(-1).tolist() == [2, 1, 2]
    ends = is_end(TOKENS, (3, 2)).numpy()
    assert ends.nonzero()[1].tolist() == [0, 1, 2]
