import collections

import tensorflow as tf

from keras_attn.data.pipeline import padding

Named = collections.namedtuple("Named", "tokens positions")


def sequence(dtype):
    return tf.TensorSpec((None,), dtype)


def test_integers_get_the_pad_id_and_other_kinds_their_zero():
    spec = (
        {"ids": sequence(tf.int64), "bytes": sequence(tf.uint8)},
        {"weights": sequence(tf.float32), "names": sequence(tf.string)},
        sequence(tf.bool),
    )
    values = padding.values(spec, 7)
    tf.nest.assert_same_structure(spec, values)
    ids, other, flags = tf.nest.map_structure(lambda v: v.numpy(), values)
    assert ids == {"ids": 7, "bytes": 7}
    assert other == {"weights": 0.0, "names": b""}
    assert not flags
    for component, value in zip(
        tf.nest.flatten(spec), tf.nest.flatten(values), strict=True
    ):
        assert value.dtype == component.dtype


def test_segments_and_positions_get_zero_wherever_they_stand():
    ids = sequence(tf.int32)
    ordered = collections.OrderedDict(tokens=ids, segments=ids, positions=ids)
    spec = (ordered, Named(ids, ids), {"segments": (ids, ids), "a": ids}, ids)
    values = tf.nest.map_structure(int, padding.values(spec, 7))
    assert dict(values[0]) == {"tokens": 7, "segments": 0, "positions": 0}
    assert values[1] == Named(7, 0)
    assert values[2] == {"segments": (0, 0), "a": 7}
    assert values[3] == 7


def test_only_unknown_axes_get_the_length():
    spec = {
        "a": tf.TensorSpec((None, 3)),
        "b": tf.TensorSpec((4,)),
        "c": tf.TensorSpec(()),
    }
    assert padding.shapes(spec, 5) == {
        "a": tf.TensorShape((5, 3)),
        "b": tf.TensorShape((4,)),
        "c": tf.TensorShape(()),
    }
