"""Texts as windows, to predict each next token."""

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.pipeline import windows
from keras_attn.data.tasks import encoding
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import special_id
from keras_attn.text.layouts import with_end
from keras_attn.text.tokenizer import Tokenizer

# Documents may be long: fewer of them are in memory at once.
DOCUMENTS_AT_ONCE = 16


def language_model(
    texts: tf.data.Dataset,
    tokenizer: Tokenizer,
    *,
    length: int,
    packed: bool = False,
    segments: bool = True,
) -> tf.data.Dataset:
    """Training examples of language modelling, all of one length.

        stream = document 1, END, document 2, END, ...

    By default the stream is cut into windows, each going on where the last
    one stopped: the last label of one is the first token of the next. The
    label of END is the next document's first token. The last window is padded,
    or left out if the vocabulary has no PAD.

    Packed windows hold whole documents, in order and padded; longer ones are
    cut. The label of END is PAD, so nothing is predicted across a boundary.

    Args:
        texts: `{"text"}`, a scalar string: a document, however long.
        tokenizer: Its vocabulary has END, and PAD for packed windows.
        length: Tokens of a window.
        packed: Whether documents are kept whole.
        segments: Whether the inputs say which document a token is of, for
            `ops.attention(segments=...)`; if not, they are the ids alone.

    Returns:
        `({"tokens", "segments"}, labels)` or `(tokens, labels)`, int32
        (length,) each. Segments count from 1 in each window; 0 is padding.
    """
    encoding.check_texts(texts, "text")
    length = argument_checks.integer(length, "length", at_least=1)
    check_special(tokenizer, "end")

    def encode(example):
        return with_end(tokenizer, tokenizer(example["text"]))

    documents = encoding.encode(texts, encode, at_once=DOCUMENTS_AT_ONCE)
    if packed:
        pad = special_id(tokenizer, "pad")
        examples = windows.packed(documents, length, pad)
    else:
        examples = windows.contiguous(documents, length, tokenizer.pad_id)
    if segments:
        return examples
    return examples.map(_without_segments)


def _without_segments(inputs, labels):
    return inputs["tokens"], labels
