import hypothesis
import tensorflow as tf
from hypothesis import strategies

from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.export.graph.utf8 import to_utf8

# Bytes that open, go on with and break characters of every length, and what
# decoders like to leave out: NUL, control characters, the byte order mark.
PIECES = strategies.sampled_from(
    [
        *(b"a", b"\0", b"\x1b", b"\x7f", b"\xef\xbb\xbf", b"\xef\xbf\xbd"),
        *(b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80"),
        *(b"\xc0", b"\xc3", b"\xe0", b"\xe2", b"\xed", b"\xf0", b"\xf4"),
        *(b"\xf5", b"\xff", b"\x80", b"\x8f", b"\x9f", b"\xa0", b"\xbf"),
    ]
)
STRINGS = strategies.lists(
    strategies.lists(PIECES, max_size=6).map(b"".join)
    | strategies.binary(max_size=6),
    max_size=20,
)


def decodes(string):
    try:
        return bool(string.decode() or True)
    except UnicodeDecodeError:
        return False


@hypothesis.given(STRINGS)
def test_text_is_what_python_can_decode(strings):
    answer = is_utf8(tf.constant(strings, tf.string)).numpy()
    assert answer.tolist() == [decodes(string) for string in strings]


@hypothesis.given(STRINGS)
def test_what_is_no_text_is_replaced_as_python_does(strings):
    answer = to_utf8(tf.constant(strings, tf.string)).numpy()
    assert [text.decode() for text in answer.tolist()] == [
        string.decode(errors="replace") for string in strings
    ]


def test_any_shape_keeps_its_shape():
    strings = tf.constant([[b"a", b"\xc3"], [b"\xa9", b""]])
    answer = to_utf8(strings).numpy()
    assert answer.tolist() == [
        [b"a", "\ufffd".encode()],
        ["\ufffd".encode(), b""],
    ]
