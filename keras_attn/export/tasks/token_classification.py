"""A model that sorts the tokens of a text into classes, as a servable."""

import tensorflow as tf

from keras_attn.export.tasks.labelled_task import LabelledTask


class TokenClassification(LabelledTask):
    """Which class every token of a text belongs to.

        scores[t] = softmax(logits[t])    labels[t] = argmax(scores[t])

    The verbs are `tag` and `embed` (text). `tag` answers, for each token of
    the text and padded to the longest of the batch, `tokens` (strings),
    `labels` (strings or int64) and `scores` (probabilities of the classes),
    and `length`, (batch,) numbers of tokens, `valid` and `truncated`. After a
    row's tokens come "", "" or -1, and 0.

    Args:
        model: A `BERT` with the head "token_classification".
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        labels: Names of the classes; answers are numbers without them.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = ("token_classification",)

    def signatures(self):
        return self.verb("tag", self._tag) + self.embed()

    def _tag(self, logits, rows):
        tokenizer, tokens = self.pairs.tokenizer, rows["tokens"]
        # What is not padding ends with END, which is not counted.
        places = tf.range(tf.shape(tokens)[1])
        real = tf.where(tokens != tokenizer.pad_id, places, 0)
        length = tf.reduce_max(real, axis=1) - 1
        # Neither START, nor what comes from END on.
        scores = tf.nn.softmax(tf.cast(logits, tf.float32))[:, 1:-1]
        tokens = tokens[:, 1:-1]
        inside = tf.sequence_mask(length, tf.shape(tokens)[1])
        labels = self.labels(scores)  # (batch, length)
        blank = "" if labels.dtype == tf.string else tf.constant(-1, tf.int64)
        pieces = tokenizer.detokenize(tokens[:, :, tf.newaxis])
        return {
            "tokens": tf.where(inside, pieces, ""),
            "labels": tf.where(inside, labels, blank),
            "scores": tf.where(inside[:, :, tf.newaxis], scores, 0.0),
            "length": length,
        }
