"""A model that makes vectors of texts, as a servable."""

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.export.tasks.text_task import TextTask
from keras_attn.models.bert.model import BERT
from keras_attn.text.tokenizer import Tokenizer

POOLINGS = ("mean", "first")


class TextEmbedding(TextTask):
    """Vectors of texts, to be compared or given to another model.

        embedding = Σ vector[t] / number of tokens

    The verbs are `embed` (text) and `embed_pairs` (text, text_pair). They
    answer `embedding`, the mean over all tokens or as `pooling` says, and,
    if the model has a pooler, `pooled`, (batch, units) floats each, `valid`
    and `truncated`. A folder of sentence-transformers tells its `pooling` and
    `normalize`, and `export_huggingface` reads them.

    Args:
        model: A `BERT` without a head.
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        pooling: "mean", or "first" for the vector of the first token.
        normalize: Whether `embedding` is divided by its length.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = (None,)

    def __init__(
        self,
        model: BERT,
        *,
        tokenizer: Tokenizer | None = None,
        max_length: int | None = None,
        pooling: str = "mean",
        normalize: bool = False,
        xla: bool = False,
    ):
        super().__init__(
            model, tokenizer=tokenizer, max_length=max_length, xla=xla
        )
        argument_checks.choice(pooling, "pooling", POOLINGS)
        self.pooling = pooling
        self.normalize = normalize

    def signatures(self):
        pairs = self.examples("text", "text_pair")
        return self.embed() + self.embed("embed_pairs", examples=pairs)

    def _vectors(self, sequence, rows):
        outputs = super()._vectors(sequence, rows)
        if self.pooling == "first":
            outputs["embedding"] = tf.cast(sequence[:, 0], tf.float32)
        if self.normalize:
            vectors = outputs["embedding"]
            outputs["embedding"] = tf.math.l2_normalize(vectors, axis=1)
        return outputs
