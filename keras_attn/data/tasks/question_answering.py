"""Questions, texts and where in them the answers are, as training examples."""

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.data.tasks import encoding
from keras_attn.text.layouts import check_special
from keras_attn.text.layouts import join_pair
from keras_attn.text.places.offsets import Offsets
from keras_attn.text.places.pair_frame import pair_frame
from keras_attn.text.tokenizer import Tokenizer

_TEXT = tf.TensorSpec(None, tf.string)


def question_answering(
    examples: tf.data.Dataset,
    tokenizer: Tokenizer,
    *,
    max_length: int | None = None,
) -> tf.data.Dataset:
    """Training examples of finding an answer in a text.

        tokens = START, question, END, context, END

    Args:
        examples: `{"question", "context", "answer", "answer_start"}`, as in
            SQuAD: scalar strings, and the character of the context at which
            the answer begins. Without an answer it is "".
        tokenizer: One whose places in a text are known, of word pieces, byte
            pairs or unigrams.
        max_length: The most tokens of a row, special ones included: of a
            longer one the question keeps half of the room, and the context
            what is left. None leaves all.

    Returns:
        `({"tokens", "segments"}, {"start", "end"})`: int32 (tokens,) each, and
        int32 scalars, the places of the answer's first and last token; 0, that
        of START, where there is no answer, or where it has been cut off.

    Reference:
        Devlin et al. 2019, section 4.2 and 4.3.
        https://arxiv.org/abs/1810.04805
    """
    encoding.check_texts(examples, "question", "context", "answer")
    if not examples.element_spec.get("answer_start", _TEXT).dtype.is_integer:
        raise ValueError(
            "Examples must have an integer `answer_start`. Received: "
            f"{examples.element_spec}"
        )
    check_special(tokenizer, "start", "end")
    offsets = Offsets(tokenizer)
    num_special, num_after = pair_frame(tokenizer)
    if max_length is not None:
        # Room for a token of each text.
        argument_checks.integer(
            max_length, "max_length", at_least=num_special + 2
        )

    def encode(example):
        asked = tokenizer(example["question"])
        told = tokenizer(example["context"])
        first, last = _places(offsets, told, example)
        if max_length is not None:
            room = max_length - num_special
            asked = asked[:, : room // 2]
            left = room - asked.row_lengths()
            inside = tf.ragged.range(told.row_lengths()).values < tf.gather(
                left, told.value_rowids()
            )
            told = tf.ragged.boolean_mask(told, told.with_values(inside))
        there = (first >= 0) & (last < told.row_lengths())
        before = num_special - num_after + asked.row_lengths()
        labels = {
            name: tf.cast(tf.where(there, before + place, 0), tf.int32)
            for name, place in (("start", first), ("end", last))
        }
        return join_pair(tokenizer, asked, told), labels

    return encoding.encode(examples, encode)


def _places(offsets, told, example):
    """The first and the last token of each answer; first is -1 if none is."""
    starts, ends = offsets(example["context"], told)
    row = told.value_rowids()
    begin = tf.cast(example["answer_start"], tf.int32)
    stop = begin + tf.strings.length(example["answer"], unit="UTF8_CHAR")
    hit = (ends.values > tf.gather(begin, row)) & (
        starts.values < tf.gather(stop, row)
    )
    place = tf.ragged.range(told.row_lengths()).values
    rows = told.nrows()
    last = tf.math.unsorted_segment_max(tf.where(hit, place, -1), row, rows)
    after = tf.int64.max
    first = tf.math.unsorted_segment_min(tf.where(hit, place, after), row, rows)
    return tf.where(last >= 0, first, -1), last
