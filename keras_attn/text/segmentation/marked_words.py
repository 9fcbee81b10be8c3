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
        sentencepiece: Whether a space that is there does not count as this
            one, stripped text loses marks at its end too, and, without
            `prefix`, the space at its start; for `tokenizers` it is not so.

    Returns:
        Ragged (batch, words) strings, none of them empty. An empty text has
        no words; a space that no word follows is one.
    """
    if spaces == "strip" and sentencepiece:
        strings = tf.strings.regex_replace(strings, f"[ {MARK}]+$", "")
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
