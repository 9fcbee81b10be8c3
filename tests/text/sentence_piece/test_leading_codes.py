import tensorflow as tf

from keras_attn.text.sentence_piece import leading_codes


def test_codes_at_the_start_are_taken_off():
    table = leading_codes.table({"a": 0, ">>fra<<": 5, ">>de<<": 6})
    texts = [">>fra<< hi", "hi >>fra<<", ">>de<<>>fra<<", ">>x<<\nb", ">>", ""]
    rest, codes = leading_codes.split(tf.constant(texts), table)
    assert rest.numpy().tolist() == [
        *(b" hi", b"hi >>fra<<", b">>fra<<", b"\nb", b">>", b"")
    ]
    assert codes.to_list() == [[5], [], [6], [-1], [], []]


def test_a_vocabulary_may_have_no_code():
    table = leading_codes.table({"a": 0})
    _, codes = leading_codes.split(tf.constant([">>a<<"]), table)
    assert codes.to_list() == [[-1]]
