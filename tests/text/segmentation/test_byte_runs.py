import pytest
import tensorflow as tf

from keras_attn.text.segmentation import byte_letters
from keras_attn.text.segmentation import byte_runs


def joined(*rows):
    """Texts of rows of single bytes (bytes) and other tokens (strings)."""
    letters = tf.ragged.constant(
        [
            [
                byte_letters.spell(t if isinstance(t, bytes) else t.encode())
                for t in row
            ]
            for row in rows
        ],
        dtype=tf.string,
        ragged_rank=1,
    )
    flags = [isinstance(token, bytes) for row in rows for token in row]
    runs = byte_runs.join(letters, tf.constant(flags, tf.bool))
    texts = byte_letters.to_bytes(tf.strings.reduce_join(runs, axis=-1))
    return [text.decode() for text in texts.numpy()]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (["a", b"\xc3", b"\xa9", "b"], "aéb"),
        (["a", b"\xc3", "b", b"\xa9"], "a\ufffdb\ufffd"),
        # One byte too many spoils the run, as `tokenizers` has it.
        ([b"\xc3", b"\xa9", b"\xc3"], "\ufffd" * 3),
        ([b"\n", "\ufffd"], "\n\ufffd"),
        (["ab", "c"], "abc"),
    ],
)
def test_bytes_side_by_side_are_text_if_they_are_utf8(row, text):
    assert joined(row) == [text]


def test_rows_do_not_touch_each_other():
    assert joined([b"\xa9", "a", b"\xc3"], [b"\xa9"], []) == [
        "\ufffda\ufffd",
        "\ufffd",
        "",
    ]


def test_each_byte_has_its_token():
    assert byte_runs.BYTE_TOKENS[0xE2] == "<0xE2>"
    assert len({*byte_runs.BYTE_TOKENS}) == 256
