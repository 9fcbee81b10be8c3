"""Pairs of sentences as training examples."""

import tensorflow as tf

from keras_attn.data.tasks import encoding
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import source_row
from keras_attn.text.layouts import with_end
from keras_attn.text.layouts import with_start
from keras_attn.text.tokenizer import Tokenizer


def translation(
    pairs: tf.data.Dataset,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | None = None,
    *,
    reverse_source: bool = False,
) -> tf.data.Dataset:
    """Training examples of translation, for teacher forcing.

        source = ids, END    target = START, ids    labels = ids, END

    Args:
        pairs: `{"source", "target"}`, scalar strings.
        source_tokenizer: Turns source texts into ids.
        target_tokenizer: For target texts; None takes the same one.
        reverse_source: Whether the source is read backwards, END still last,
            which brings its first words near to the target's.

    Returns:
        `({"source", "target"}, labels)`, int32 (tokens,) each.

    Reference:
        Sutskever et al. 2014, section 3.3. https://arxiv.org/abs/1409.3215
    """
    target_tokenizer = target_tokenizer or source_tokenizer
    encoding.check_texts(pairs, "source", "target")
    if source_tokenizer.pad_id != target_tokenizer.pad_id:
        raise ValueError(
            "Both tokenizers must pad with the same id. Received: source "
            f"pad_id={source_tokenizer.pad_id}, target "
            f"pad_id={target_tokenizer.pad_id}"
        )
    check_special(source_tokenizer, "end")
    check_special(target_tokenizer, "start", "end")

    def encode(pair):
        source = source_tokenizer(pair["source"])
        ids = target_tokenizer(pair["target"])
        inputs = {
            "source": source_row(
                source_tokenizer, source, reverse=reverse_source
            ),
            "target": with_start(target_tokenizer, ids),
        }
        return inputs, with_end(target_tokenizer, ids)

    return encoding.encode(pairs, encode)
