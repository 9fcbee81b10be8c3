"""One text or two as the rows that BERT reads, whatever a caller sends."""

import tensorflow as tf

from keras_attn.export.graph.shared_function import shared_function
from keras_attn.export.graph.utf8 import is_utf8
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import join_pair
from keras_attn.text.layouts import pair_special
from keras_attn.text.layouts import truncate_pair
from keras_attn.text.tokenizer import Tokenizer


class TextPairs(tf.Module):
    """Texts to rows of ids, laid out by `text.layouts.join_pair`.

    A text that is too long loses its last tokens, never its END; of two, the
    longer one loses first.

    Args:
        tokenizer: Its START and END are BERT's [CLS] and [SEP].
        max_length: The most tokens in a row, special ones included.

    Call arguments:
        text: (batch,) strings.
        text_pair: (batch,) strings or None.
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
        check_special(tokenizer, "pad", "start", "end")
        special = pair_special(tokenizer, 2)
        if max_length <= special:
            raise ValueError(
                "`max_length` must leave room for START, END, END and a "
                f"token, {special + 1} in all. Received: max_length="
                f"{max_length}"
            )
        self.tokenizer = tokenizer
        self.tokenize = shared_function(tokenizer)
        self.max_length = max_length

    def __call__(self, text, text_pair=None, *, fixed=False):
        texts = [text] if text_pair is None else [text, text_pair]
        valid = tf.reduce_all([is_utf8(each) for each in texts], axis=0)
        ids = [self.tokenize(tf.where(valid, each, "")) for each in texts]
        for each in ids:
            valid &= each.row_lengths() > 0
        return {**self.lay_out(*ids, fixed=fixed), "valid": valid}

    def lay_out(self, text, text_pair=None, *, fixed: bool = False) -> dict:
        """Put ids between START and END.

        Args:
            text: Ragged (batch, tokens) ids.
            text_pair: The same, or None.
            fixed: As above.

        Returns:
            `{"tokens", "segments", "truncated"}` as above.
        """
        texts = 1 if text_pair is None else 2
        room = self.max_length - pair_special(self.tokenizer, texts)
        text, text_pair, truncated = truncate_pair(text, text_pair, room)
        rows = join_pair(self.tokenizer, text, text_pair)
        tokens, segments = rows["tokens"], rows["segments"]
        # A batch without rows has a first token as well: models take it.
        longest = tf.reduce_max(tf.concat([tokens.row_lengths(), [2]], axis=0))
        shape = (None, self.max_length) if fixed else tf.stack([-1, longest])
        return {
            "tokens": tokens.to_tensor(self.tokenizer.pad_id, shape=shape),
            "segments": segments.to_tensor(0, shape=shape),
            "truncated": truncated,
        }
