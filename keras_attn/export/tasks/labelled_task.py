"""What tasks have in common that answer with names of classes."""

from collections.abc import Sequence

from keras_attn.export.graph.labels import Labels
from keras_attn.export.tasks.text_task import TextTask
from keras_attn.models.bert.model import BERT
from keras_attn.text.tokenizer import Tokenizer


class LabelledTask(TextTask):
    """A BERT whose last axis is classes.

    Args:
        model: A `BERT` with a head that classifies.
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        labels: Names of the classes; answers are numbers without them.
        xla: Whether every signature has an XLA signature beside it.
    """

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        labels: Sequence[str] | None = None,
        xla: bool = False,
    ):
        super().__init__(
            model, tokenizer=tokenizer, max_length=max_length, xla=xla
        )
        self.labels = Labels(labels, num_classes=model.output_shape[-1])
