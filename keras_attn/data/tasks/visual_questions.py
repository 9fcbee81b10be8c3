"""Images, questions on them and answers, as training examples."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.data.tasks.image_classification import check_fields
from keras_attn.data.tasks.image_text import as_regions
from keras_attn.data.tasks.image_text import check_regions
from keras_attn.data.tasks.image_text import check_string
from keras_attn.data.tasks.image_text import text_row
from keras_attn.text.layouts import check_special
from keras_attn.text.tokenizer import Tokenizer


def visual_questions(
    examples: tf.data.Dataset,
    tokenizer: Tokenizer,
    answers: Sequence[str],
    **image_options,
) -> tf.data.Dataset:
    """Training examples of visual question answering, as classification.

        tokens = START, question, END        label = place in `answers`

    Args:
        examples: `{"question", "answer"}`, scalar strings, the question with
            at least one token, and what there is to see: "image", the bytes
            of an image file or uint8 (height, width, channels); or "features"
            and "boxes", as for `image_text`.
        tokenizer: Its vocabulary has START and END.
        answers: The answers that the model chooses from; an example with
            another one is an error. Filter these out, or add the answer.
        image_options: `size`, `channels`, `fit`, `value_range` and
            `max_pixels` of images, as for `captioning`.

    Returns:
        `({"tokens", "segments", "image"}, label)`, or with "features" and
        "boxes": int32 (tokens,) each; float32 (height, width, channels); an
        int32 scalar.

    Reference:
        Lu et al. 2019, section 3.2. https://arxiv.org/abs/1908.02265
    """
    check_fields(examples, {"question", "answer"})
    check_string(examples, "question", "A question is one example.")
    check_string(examples, "answer", "Choose one answer for each question.")
    check_regions(examples, image_options)
    check_special(tokenizer, "start", "end")
    answers = [str(answer) for answer in answers]
    if not answers or len(set(answers)) != len(answers):
        raise ValueError(
            "`answers` must be different strings, at least one. Received: "
            f"{answers}"
        )

    def encode(example):
        inputs = text_row(tokenizer, example["question"])
        inputs |= as_regions(example, image_options)
        return inputs, _label(example["answer"], answers)

    return examples.map(encode, tf.data.AUTOTUNE)


def _label(answer, answers):
    """The place of an answer, failing if it is not there."""
    same = tf.equal(answer, tf.constant(answers))
    known = tf.debugging.Assert(
        tf.reduce_any(same),
        ["`answers` must hold the answer of every example. Received:", answer],
    )
    with tf.control_dependencies([known]):
        return tf.argmax(same, output_type=tf.int32)
