"""A model that finds answers in texts, as a servable."""

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.export.graph.spans.best_span import best_span
from keras_attn.export.graph.spans.context_windows import ContextWindows
from keras_attn.export.tasks.text_task import TextTask
from keras_attn.models.bert.model import BERT
from keras_attn.text.tokenizer import Tokenizer


class QuestionAnswering(TextTask):
    """The part of a text that answers a question.

        score(i, j) = P(start = i) P(end = j),    the best i <= j being taken

    The verbs are `answer` (question, context) and `embed` (text). `answer`
    answers, (batch,) each, `text`, cut from the context as it came; `start`
    and `end`, its characters (code points): text = context[start:end];
    `score`; `no_answer_score`, that of the first token, as models are taught
    that say when there is no answer; `valid` and `truncated`. A long context
    is read in windows that overlap, and the best of all is taken.

    Args:
        model: A `BERT` with the head "span".
        tokenizer: The tokenizer that it was trained with: of word pieces,
            byte pairs or unigrams, whose places in a text are known.
        max_length: The most tokens that are read at once; all positions if
            None.
        max_answer_length: The most tokens of an answer.
        no_answer: Whether `text` is empty, and both ends are 0, where no
            answer is more probable than the best one.
        whole_words: Whether an answer begins and ends with a word.
        stride: How many tokens windows share.
        max_windows: How many are read; what is left is told by `truncated`.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = ("span",)

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        max_answer_length: int = 15,
        no_answer: bool = False,
        whole_words: bool = True,
        stride: int = 128,
        max_windows: int = 32,
        xla: bool = False,
    ):
        super().__init__(
            model, tokenizer=tokenizer, max_length=max_length, xla=xla
        )
        self.max_answer_length = argument_checks.integer(
            max_answer_length, "max_answer_length", at_least=1
        )
        self.no_answer = no_answer
        self.windows = ContextWindows(
            tokenizer,
            max_length=self.longest,
            stride=argument_checks.integer(stride, "stride", at_least=0),
            max_windows=argument_checks.integer(
                max_windows, "max_windows", at_least=1
            ),
            whole_words=whole_words,
        )

    def signatures(self):
        answer = self.verb(
            "answer",
            self._answer,
            read=self.windows,
            examples=self.examples("question", "context"),
        )
        return answer + self.embed()

    def _answer(self, logits, rows):
        first, last, score, null = best_span(
            logits["start"],
            logits["end"],
            rows["legal"],
            longest=self.max_answer_length,
        )
        windows = rows["windows"]
        best = _best_window(score, windows)
        first, last, score = (tf.gather(x, best) for x in (first, last, score))
        start = _at(tf.gather(rows["starts"], best), first)
        end = _at(tf.gather(rows["ends"], best), last)
        owner = tf.repeat(tf.range(tf.size(windows)), windows)
        null = tf.math.unsorted_segment_min(null, owner, tf.size(windows))
        if self.no_answer:
            there = score >= null
            start, end = (tf.where(there, x, 0) for x in (start, end))
            score = tf.where(there, score, null)
        # A row that is not valid has no token that could be chosen.
        end = tf.maximum(start, end)
        text = tf.strings.substr(
            rows["context"], start, end - start, unit="UTF8_CHAR"
        )
        return {
            "text": text,
            "start": start,
            "end": end,
            "score": score,
            "no_answer_score": null,
        }


def _best_window(score, windows):
    """For each of (batch,) numbers of windows the row of the best one."""
    ragged = tf.RaggedTensor.from_row_lengths(score, windows, validate=False)
    # A batch without rows has a window as well, to take the best of.
    most = tf.reduce_max(tf.concat([windows, [1]], axis=0))
    scores = ragged.to_tensor(-1.0, shape=tf.stack([-1, most]))
    return ragged.row_starts() + tf.argmax(scores, axis=1)


def _at(rows, places):
    """(batch,) entries of (batch, length) rows."""
    return tf.gather(rows, places, batch_dims=1)
