import tensorflow as tf

from keras_attn.text.segmentation.word_ids import word_ids


def test_known_words_are_found_and_each_other_one_is_cut_once():
    asked = []

    def find(words):
        return tf.where(words == b"the", tf.constant(7, tf.int64), -1)

    def cut(words):
        asked.append(words.numpy().tolist())
        lengths = tf.cast(tf.strings.length(words), tf.int64)
        return tf.ragged.range(lengths)

    words = tf.ragged.constant([["abc", "the", "x"], [], ["the", "abc", ""]])
    ids = word_ids(words, find, cut)
    assert ids.to_list() == [[0, 1, 2, 7, 0], [], [7, 0, 1, 2]]
    assert ids.dtype == tf.int32
    assert asked == [[b"abc", b"x", b""]]
