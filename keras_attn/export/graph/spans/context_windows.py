"""A question and a text to find its answer in, as rows that BERT reads."""

import tensorflow as tf

from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import join_pair
from keras_attn.text.places.offsets import Offsets
from keras_attn.text.places.pair_frame import pair_frame
from keras_attn.text.tokenizer import Tokenizer


class ContextWindows(tf.Module):
    """Questions, each with every part of its context.

        row = START, question, END, window of the context, END

    laid out by `text.layouts.join_pair`. A context that is too long for one
    row is read in windows, each of which repeats the last tokens of the one
    before. A question that takes more than half of a row loses its end.

    Args:
        tokenizer: Of the model.
        max_length: The most tokens in a row, special ones included.
        stride: How many tokens windows share, but at most half of one.
        max_windows: The most windows of a context.
        whole_words: As for `text.places.offsets.Offsets`.

    Call arguments:
        question, context: (batch,) strings.
        fixed: Whether rows are padded to `max_length`, not to the longest.

    Returns:
        `{"tokens", "segments"}`, (rows, length) int32; `"legal"`, (rows,
        length) booleans, True at tokens of the context; `"starts"` and
        `"ends"`, (rows, length) int32 characters in the context; `"windows"`,
        (batch,) int64 rows of each; (batch,) booleans `"valid"`, False where
        a text is not UTF-8 or has no token, and `"truncated"`; `"context"`.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        max_length: int,
        stride: int,
        max_windows: int,
        whole_words: bool,
    ):
        super().__init__()
        check_special(tokenizer, "pad", "start", "end")
        self.tokenizer = tokenizer
        self.tokenize = shared_function(tokenizer)
        self.offsets = Offsets(tokenizer, whole_words=whole_words)
        self.num_special, self.num_after = pair_frame(tokenizer)
        self.max_length = max_length
        self.room = max_length - self.num_special
        if self.room < 2:
            raise ValueError(
                "`max_length` must leave room for a token of the question "
                f"and one of the context beside {self.num_special} special "
                f"ones. Received: max_length={max_length}"
            )
        self.stride = stride
        self.max_windows = max_windows

    def __call__(self, question, context, *, fixed=False):
        valid = is_utf8(question) & is_utf8(context)
        question, context = (
            tf.where(valid, text, "") for text in (question, context)
        )
        asked, told = self.tokenize(question), self.tokenize(context)
        valid &= (asked.row_lengths() > 0) & (told.row_lengths() > 0)
        starts, ends = self.offsets(context, told)
        kept = asked[:, : self.room // 2]
        truncated = kept.row_lengths() < asked.row_lengths()
        room = self.room - kept.row_lengths()
        step = room - tf.minimum(tf.cast(self.stride, tf.int64), room // 2)
        # Steps round up: the floor of what is below zero is further from it.
        wanted = 1 - tf.minimum(room - told.row_lengths(), 0) // step
        windows = tf.minimum(wanted, self.max_windows)
        truncated |= wanted > windows
        row = tf.repeat(tf.range(tf.size(windows)), windows)
        begin = tf.ragged.range(windows).values * tf.gather(step, row)
        stop = tf.minimum(begin + tf.gather(room, row), _at(told, row))
        base = tf.gather(told.row_starts(), row)
        places = tf.ragged.range(base + begin, base + stop)
        rows = join_pair(
            self.tokenizer,
            tf.gather(kept, row),
            places.with_values(tf.gather(told.values, places.values)),
        )
        shape = self._shape(rows["tokens"], fixed)
        pads = {"tokens": self.tokenizer.pad_id, "segments": 0}
        rows = {k: x.to_tensor(pads[k], shape=shape) for k, x in rows.items()}
        # Where in a row its window begins.
        first = self.num_special - self.num_after
        first += tf.gather(kept.row_lengths(), row)
        place = tf.range(tf.shape(rows["tokens"])[1])[tf.newaxis]
        place = tf.cast(place, tf.int64) - first[:, tf.newaxis]
        legal = (place >= 0) & (place < (stop - begin)[:, tf.newaxis])
        place = tf.where(legal, place + (base + begin)[:, tf.newaxis], 0)
        return {
            **rows,
            "legal": legal,
            "starts": _take(starts.values, place, legal),
            "ends": _take(ends.values, place, legal),
            "windows": windows,
            "valid": valid,
            "truncated": truncated,
            "context": context,
        }

    def _shape(self, tokens, fixed):
        if fixed:
            return (None, self.max_length)
        # A batch without rows has a first token as well: models take it.
        lengths = tf.concat([tokens.row_lengths(), [2]], axis=0)
        return tf.stack([-1, tf.reduce_max(lengths)])


def _at(ragged, row):
    return tf.gather(ragged.row_lengths(), row)


def _take(values, places, legal):
    # A batch of nothing but empty contexts has no value.
    taken = tf.gather(tf.concat([values, [0]], axis=0), places)
    return tf.where(legal, taken, 0)
