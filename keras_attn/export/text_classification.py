"""A model that sorts texts into classes, as a servable."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.export.labels import Labels
from keras_attn.export.text_task import TextTask
from keras_attn.models.bert import BERT
from keras_attn.text.tokenizer import Tokenizer


class TextClassification(TextTask):
    """Which class a text, or a pair of texts, belongs to.

    The verbs are `classify` (text), `classify_pairs` (text, second) and
    `embed` (text). `classify` answers `label`, (batch,) strings or int64,
    `scores`, (batch, classes) probabilities, `valid` and `truncated`. A model
    that was trained to tell whether one text follows another has pairs first.

    Args:
        model: A `BERT` with the head "classification" or "next_sentence".
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        labels: Names of the classes; answers are numbers without them.
    """

    HEADS = ("classification", "next_sentence")

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer,
        max_length: int | None = None,
        labels: Sequence[str] | None = None,
    ):
        super().__init__(model, tokenizer=tokenizer, max_length=max_length)
        self.labels = Labels(labels, num_classes=model.output_shape[-1])

    def signatures(self):
        verbs = [
            self.verb("classify", self._classify),
            self.verb("classify_pairs", self._classify, pairs=True),
        ]
        if self.model.config["head"] == "next_sentence":
            del verbs[0]
        return [*verbs, self.verb("embed", self.embed)]

    def _classify(self, inputs):
        logits = tf.cast(self.model(inputs, training=False), tf.float32)
        scores = tf.nn.softmax(logits)  # (batch, classes)
        return {"label": self.labels(scores), "scores": scores}
