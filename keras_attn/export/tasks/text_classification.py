"""A model that sorts texts into classes, as a servable."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.export.tasks.labelled_task import LabelledTask
from keras_attn.models.bert.model import BERT
from keras_attn.text.tokenizer import Tokenizer


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
        multi_label: Whether a text may be of several classes: scores are then
            sigmoid(logits), and `label` is the most probable one.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = ("classification", "next_sentence")

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        labels: Sequence[str] | None = None,
        multi_label: bool = False,
        xla: bool = False,
    ):
        super().__init__(
            model,
            tokenizer=tokenizer,
            max_length=max_length,
            labels=labels,
            xla=xla,
        )
        self.multi_label = multi_label

    def signatures(self):
        pairs = self.examples("text", "text_pair")
        verbs = self.verb("classify_pairs", self._classify, examples=pairs)
        if self.model.config["head"] == "classification":
            verbs = self.verb("classify", self._classify) + verbs
        return verbs + self.embed()

    def _classify(self, logits, rows):
        logits = tf.cast(logits, tf.float32)  # (batch, classes)
        scores = tf.sigmoid if self.multi_label else tf.nn.softmax
        scores = scores(logits)
        return {"label": self.labels(scores), "scores": scores}
