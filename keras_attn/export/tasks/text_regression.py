"""A model that gives texts a number, as a servable."""

import tensorflow as tf

from keras_attn.export.tasks.text_task import TextTask


class TextRegression(TextTask):
    """The number that goes with a text, or with a pair of texts.

        value = the regression head of (START, text, END)

    The verbs are `regress` (text), `regress_pairs` (text, text_pair) and
    `embed` (text). `regress` answers `value`, (batch,) floats, `valid` and
    `truncated`.

    Args:
        model: A `BERT` with the head "regression".
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = ("regression",)

    def signatures(self):
        pairs = self.examples("text", "text_pair")
        return [
            *self.verb("regress", self._regress),
            *self.verb("regress_pairs", self._regress, examples=pairs),
            *self.embed(),
        ]

    def _regress(self, values, rows):
        return {"value": tf.cast(values[:, 0], tf.float32)}
