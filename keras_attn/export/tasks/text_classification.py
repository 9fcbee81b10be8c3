"""A model that sorts texts into classes, as a servable."""

import tensorflow as tf

from keras_attn.export.tasks.labelled_task import LabelledTask


class TextClassification(LabelledTask):
    """Which class a text, or a pair of texts, belongs to.

        scores = softmax(logits)    label = labels[argmax(scores)]

    The verbs are `classify` (text), `classify_pairs` (text, text_pair) and
    `embed` (text). `classify` answers `label`, (batch,) strings or int64,
    `scores`, (batch, classes) probabilities, `valid` and `truncated`. A model
    that was trained to tell whether one text follows another has pairs first.

    Args:
        model: A `BERT` with the head "classification" or "next_sentence".
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        labels: Names of the classes; answers are numbers without them.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = ("classification", "next_sentence")

    def signatures(self):
        pairs = self.examples("text", "text_pair")
        verbs = self.verb("classify_pairs", self._classify, examples=pairs)
        if self.model.config["head"] == "classification":
            verbs = self.verb("classify", self._classify) + verbs
        return verbs + self.embed()

    def _classify(self, logits, rows):
        scores = tf.nn.softmax(tf.cast(logits, tf.float32))  # (batch, classes)
        return {"label": self.labels(scores), "scores": scores}
