"""Documents of any length as windows of one length."""

import tensorflow as tf

from keras_attn.data.pipeline.sentinel import keep_marked
from keras_attn.data.pipeline.sentinel import mark_end


def contiguous(
    documents: tf.data.Dataset, length: int, pad_id: int | None
) -> tf.data.Dataset:
    """Cut all documents, one after the other, into windows.

        tokens = stream[i · length], ..., stream[(i + 1) · length - 1]
        labels = stream[i · length + 1], ..., stream[(i + 1) · length]

    Args:
        documents: (tokens,) ids.
        length: Tokens of a window.
        pad_id: Fills the last window; None leaves out what does not fill one.

    Returns:
        `({"tokens", "segments"}, labels)`, int32 (length,) each.
    """

    def step(state, marked):
        document, ends = marked
        tokens, numbers, number = state
        size = tf.size(tokens)
        tokens = tf.concat([tokens, document], axis=0)
        numbers = _extend(numbers, number, tf.size(document))
        if pad_id is not None:
            # The last token alone has nothing to predict.
            missing = tf.where(ends & (size > 1), length + 1 - size, 0)
            tokens = _extend(tokens, pad_id, missing)
            numbers = _extend(numbers, -1, missing)
        used = tf.maximum(tf.size(tokens) - 1, 0) // length * length
        inputs = {
            "tokens": tf.reshape(tokens[:used], (-1, length)),
            "segments": _segments(tf.reshape(numbers[:used], (-1, length))),
        }
        labels = tf.reshape(tokens[1 : used + 1], (-1, length))
        state = tokens[used:], numbers[used:], number + 1
        return state, (inputs, labels)

    ids, numbers = tf.zeros(0, tf.int32), tf.zeros(0, tf.int64)
    nothing = ids, numbers, tf.zeros((), tf.int64)
    return mark_end(documents).scan(nothing, step).unbatch()


def packed(
    documents: tf.data.Dataset, length: int, pad_id: int
) -> tf.data.Dataset:
    """Put whole documents into windows, in order, and pad the windows.

    A document that does not fit into what is left of a window opens the next
    one; a document longer than a window is cut into pieces. Each label is the
    next token of the same document, also where a piece ends, and PAD after a
    document's last token.

    Args:
        documents: (tokens,) ids.
        length: Tokens of a window.
        pad_id: Fills the windows, and the labels where a document ends.

    Returns:
        `({"tokens", "segments"}, labels)`, int32 (length,) each.
    """
    places = tf.range(length)

    def cut(document):
        labels = _extend(document[1:], pad_id, 1)
        starts = tf.range(0, tf.size(document), length)
        missing = tf.size(starts) * length - tf.size(document)
        shape = (-1, length)
        tokens = tf.reshape(_extend(document, pad_id, missing), shape)
        labels = tf.reshape(_extend(labels, pad_id, missing), shape)
        sizes = tf.minimum(tf.size(document) - starts, length)
        return tokens, labels, sizes

    def step(state, marked):
        (tokens, labels, size), ends = marked
        window, filled, number = state
        fits = ~ends & (filled + size <= length)
        full = window
        start = tf.where(fits, filled, 0)
        number = tf.where(fits, number, 0) + 1
        # An opened window is overwritten from its start to its end.
        here = (places >= start) & (~fits | (places < start + size))
        is_real = places < size
        piece = {
            "tokens": tokens,
            "segments": tf.where(is_real, number, 0),
            "labels": labels,
        }
        window = {
            name: tf.where(here, tf.roll(piece[name], start, 0), window[name])
            for name in window
        }
        inputs = {name: full[name] for name in ("tokens", "segments")}
        emitted = ~fits & (filled > 0)
        state = window, start + size, number
        return state, ((inputs, full["labels"]), emitted)

    padding = tf.fill([length], pad_id)
    window = {
        "tokens": padding,
        "segments": tf.zeros(length, tf.int32),
        "labels": padding,
    }
    pieces = documents.map(cut, tf.data.AUTOTUNE).unbatch()
    return keep_marked(mark_end(pieces).scan((window, 0, 0), step))


def _segments(numbers):
    """Number the documents of each window from 1; -1, padding, becomes 0."""
    segments = tf.cast(numbers - numbers[:, :1] + 1, tf.int32)
    return tf.where(numbers < 0, 0, segments)


def _extend(row, number, count):
    return tf.concat([row, tf.fill([count], tf.cast(number, row.dtype))], 0)
