"""One text or two as one sequence, the way BERT reads them."""

import tensorflow as tf

from keras_attn.data.tasks import encoding
from keras_attn.text.tokenizer import Tokenizer


def join_texts(tokenizer: Tokenizer, text, text_pair=None) -> dict:
    """Put one text, or two, between START and END.

        tokens = START, text, END                    segments = 0 ... 0
        tokens = START, text, END, text_pair, END    segments = 0 ... 0, 1 ... 1

    Args:
        tokenizer: Its START and END are BERT's [CLS] and [SEP].
        text: (batch,) strings.
        text_pair: (batch,) strings or None.

    Returns:
        `{"tokens", "segments"}`, ragged int32 (batch, tokens).

    Reference:
        Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
    """
    start = encoding.special_id(tokenizer, "start")
    end = encoding.special_id(tokenizer, "end")
    ids = tokenizer(text)
    end_column = encoding.column(end, ids)
    tokens = tf.concat([encoding.column(start, ids), ids, end_column], axis=1)
    segments = tf.zeros_like(tokens)
    if text_pair is not None:
        second = tf.concat([tokenizer(text_pair), end_column], axis=1)
        tokens = tf.concat([tokens, second], axis=1)
        segments = tf.concat([segments, tf.ones_like(second)], axis=1)
    return {"tokens": tokens, "segments": segments}
