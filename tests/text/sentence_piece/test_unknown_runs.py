import tensorflow as tf

from keras_attn.text.sentence_piece import unknown_runs

ROWS = [[3, -98, -99, 4], [-100], [], [-101, 5, -102]]


def test_neighbours_are_one():
    pieces = tf.ragged.constant(ROWS, dtype=tf.int64)
    starts = tf.constant([True, False, False, False, True, True, False, False])
    fused, runs = unknown_runs.fuse(pieces, starts)
    assert fused.to_list() == [[3, -98, 4], [-100], [], [-101, 5, -102]]
    assert runs.to_list() == [[97, 98], [99], [100], [101]]


def test_nothing_unknown_stays():
    pieces = tf.ragged.constant([[1, 2], []], dtype=tf.int64)
    fused, runs = unknown_runs.fuse(pieces, tf.constant([True, False]))
    assert fused.to_list() == [[1, 2], []] and runs.to_list() == []


def test_bytes_are_those_of_utf_8():
    text = "a\x7f\x80é\u07ff\u0800漢\uffff\U00010000\U0010ffff\0"
    rows = [[7, *(-1 - ord(c) for c in text)], [0], []]
    pieces = tf.ragged.constant(rows, dtype=tf.int64)
    expected = [[7, *(-1 - byte for byte in text.encode())], [0], []]
    assert unknown_runs.to_bytes(pieces).to_list() == expected
