import tensorflow as tf

from keras_attn.data.pipeline.sentinel import keep_marked
from keras_attn.data.pipeline.sentinel import mark_end


def test_one_empty_element_comes_after_the_last():
    dataset = tf.data.Dataset.from_tensor_slices([1, 2]).map(
        lambda n: {
            "row": tf.range(n),
            "pair": tf.stack([n, n]),
            "text": tf.as_string(n),
        }
    )
    *real, (empty, ends) = mark_end(dataset)
    assert [(e["row"].numpy().tolist(), bool(end)) for e, end in real] == [
        ([0], False),
        ([0, 1], False),
    ]
    assert bool(ends)
    assert empty["row"].numpy().tolist() == []
    assert empty["pair"].numpy().tolist() == [0, 0]
    assert empty["text"].numpy() == b""


def test_the_end_of_no_elements_is_marked_too():
    ((_, ends),) = mark_end(tf.data.Dataset.range(3).take(0))
    assert bool(ends)


def test_marked_elements_are_kept_without_their_mark():
    marked = tf.data.Dataset.range(5).map(lambda n: ((n, -n), n % 2 == 0))
    kept = keep_marked(marked)
    assert kept.element_spec == (
        tf.TensorSpec((), tf.int64),
        tf.TensorSpec((), tf.int64),
    )
    assert list(kept.as_numpy_iterator()) == [(0, 0), (2, -2), (4, -4)]
