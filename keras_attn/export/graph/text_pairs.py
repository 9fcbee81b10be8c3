"""One text or two as the rows that BERT reads, whatever a caller sends."""

import tensorflow as tf

from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.text.tokenizer import Tokenizer


class TextPairs(tf.Module):
    """Texts to rows of ids, as BERT was trained on.

        tokens = START, text, END                 segments = 0 ... 0
        tokens = START, text, END, second, END    segments = 0 ... 0, 1 ... 1

    A text that is too long loses its last tokens, never its END; of two, the
    longer one loses first.

    Args:
        tokenizer: Its START and END are BERT's [CLS] and [SEP].
        max_length: The most tokens in a row, special ones included.

    Call arguments:
        text: (batch,) strings.
        second: (batch,) strings or None.
        fixed: Whether rows are padded to `max_length`, not to the longest.

    Returns:
        `{"tokens", "segments"}`, (batch, length) int32, and (batch,) booleans:
        `"valid"`, False where a text is not UTF-8 or has no token, and
        `"truncated"`. What is not UTF-8 reads as empty.

    Reference:
        Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
    """

    def __init__(self, tokenizer: Tokenizer, *, max_length: int):
        super().__init__()
        for part in ("pad", "start", "end"):
            if getattr(tokenizer, f"{part}_id") is None:
                raise ValueError(
                    f"The vocabulary of `tokenizer` has no {part.upper()} "
                    "token, which BERT reads. Choose one of its tokens: "
                    f'special_tokens={{"{part}": ...}}.'
                )
        if max_length < 4:
            raise ValueError(
                "`max_length` must leave room for START, END, END and a "
                f"token. Received: max_length={max_length}"
            )
        self.tokenizer = tokenizer
        self.tokenize = shared_function(tokenizer)
        self.max_length = max_length

    def __call__(self, text, second=None, *, fixed=False):
        texts = [text] if second is None else [text, second]
        valid = tf.reduce_all([is_utf8(each) for each in texts], axis=0)
        ids = [self.tokenize(tf.where(valid, each, "")) for each in texts]
        for each in ids:
            valid &= each.row_lengths() > 0
        return {**self.lay_out(*ids, fixed=fixed), "valid": valid}

    def lay_out(self, first, second=None, *, fixed: bool = False) -> dict:
        """Put ids between START and END.

        Args:
            first: Ragged (batch, tokens) ids.
            second: The same, or None.
            fixed: As above.

        Returns:
            `{"tokens", "segments", "truncated"}` as above.
        """
        tokenizer = self.tokenizer
        start = self._column(tokenizer.start_id, first)
        end = self._column(tokenizer.end_id, first)
        if second is None:
            room = self.max_length - 2
            kept = tf.minimum(first.row_lengths(), room)
            truncated = first.row_lengths() > room
            tokens = tf.concat([start, _cut(first, kept), end], axis=1)
            segments = tf.zeros_like(tokens)
        else:
            room = self.max_length - 3
            lengths = first.row_lengths(), second.row_lengths()
            truncated = lengths[0] + lengths[1] > room
            # Half of the room, or what the other text leaves.
            share = tf.maximum(room - lengths[0], room // 2)
            kept_second = tf.minimum(lengths[1], share)
            kept = tf.minimum(lengths[0], room - kept_second)
            opening = tf.concat([start, _cut(first, kept), end], axis=1)
            closing = tf.concat([_cut(second, kept_second), end], axis=1)
            tokens = tf.concat([opening, closing], axis=1)
            segments = tf.concat(
                [tf.zeros_like(opening), tf.ones_like(closing)], axis=1
            )
        # A batch without rows has a first token as well: models take it.
        longest = tf.reduce_max(tf.concat([tokens.row_lengths(), [2]], axis=0))
        shape = (None, self.max_length) if fixed else tf.stack([-1, longest])
        return {
            "tokens": tokens.to_tensor(tokenizer.pad_id, shape=shape),
            "segments": segments.to_tensor(0, shape=shape),
            "truncated": truncated,
        }

    def _column(self, number, like):
        return tf.fill([like.nrows(), 1], tf.constant(number, tf.int32))


def _cut(ids, lengths):
    """The first tokens of each row of ragged ids, `lengths` of them."""
    starts = ids.row_starts()
    places = tf.ragged.range(starts, starts + lengths)
    return places.with_values(tf.gather(ids.values, places.values))
