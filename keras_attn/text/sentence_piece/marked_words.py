"""Text to words that carry the space before them."""

import tensorflow as tf

# U+2581, which SentencePiece writes for a space.
MARK = "\u2581"


def split_words(strings, *, spaces: str, prefix, sentencepiece: bool):
    """Split at spaces, each of which becomes the mark of the word behind it.

        "so it  is" -> "▁so" "▁it" "▁is"

    Args:
        strings: (batch,) UTF-8 strings.
        spaces: "keep" all, "collapse" several to one, or "strip" those at the
            ends too.
        prefix: (batch,) booleans, or one: whether a text starts with a mark,
            as if a space were before it.
        sentencepiece: Whether marks in a text are as in sentencepiece: a
            prefix comes before a space that is there, too, and stripped text
            has no marks at its end. In `tokenizers` a mark is a space.

    Returns:
        Ragged (batch, words) strings, none of them empty. An empty text has
        no words; a space that no word follows is one.
    """
    if sentencepiece:
        if spaces == "strip":
            strings = tf.strings.regex_replace(strings, f"[ {MARK}]+$", "")
        return _split(strings, spaces, prefix, sentencepiece)
    marks = tf.strings.regex_full_match(strings, f"(?s).*{MARK}.*")
    return tf.cond(
        tf.reduce_any(marks),
        lambda: _split(_as_spaces(strings, spaces), "keep", prefix, False),
        lambda: _split(strings, spaces, prefix, False),
    )


def _as_spaces(strings, spaces):
    """Marks become spaces after others have been collapsed or stripped."""
    if spaces != "keep":
        strings = tf.strings.regex_replace(strings, "  +", " ")
    if spaces == "strip":
        strings = tf.strings.regex_replace(strings, " $", "")
    return tf.strings.regex_replace(strings, MARK, " ")


def _split(strings, spaces, prefix, sentencepiece):
    prefix = tf.broadcast_to(prefix, tf.shape(strings))
    places, parts, _ = tf.raw_ops.StringSplitV2(input=strings, sep=" ")
    rows, columns = tf.unstack(places, axis=1)
    keep = parts != ""
    if spaces == "collapse":
        last = rows != tf.concat([rows[1:], [-1]], 0)[: tf.size(rows)]
        keep |= last & (columns > 0)
    elif spaces == "keep":
        # What is before the first space of a text may be nothing.
        keep |= columns > 0
        if sentencepiece:
            keep |= tf.gather((strings != "") & prefix, rows)
    kept = tf.where(keep)[:, 0]
    rows, parts = tf.gather(rows, kept), tf.gather(parts, kept)
    first = tf.gather(columns, kept) == 0
    if spaces == "strip" and sentencepiece:
        first = rows != tf.concat([[-1], rows[:-1]], 0)[: tf.size(rows)]
    marked = ~first | tf.gather(prefix, rows)
    words = tf.where(marked, tf.strings.join([MARK, parts]), parts)
    splits = tf.searchsorted(rows, tf.range(tf.size(strings, tf.int64) + 1))
    return tf.RaggedTensor.from_row_splits(
        words, tf.cast(splits, tf.int64), validate=False
    )
