"""A model that makes vectors of texts, as a servable."""

from keras_attn.export.tasks.text_task import TextTask


class TextEmbedding(TextTask):
    """Vectors of texts, to be compared or given to another model.

        embedding = Σ vector[t] / number of tokens

    The verbs are `embed` (text) and `embed_pairs` (text, text_pair). They
    answer `embedding`, the mean over all tokens, and `pooled`, (batch, units)
    floats each, `valid` and `truncated`.

    Args:
        model: A `BERT` without a head.
        tokenizer: The tokenizer that it was trained with.
        max_length: The most tokens that are read; all positions if None.
        xla: Whether every signature has an XLA signature beside it.
    """

    HEADS = (None,)

    def signatures(self):
        pairs = self.examples("text", "text_pair")
        return self.embed() + self.embed("embed_pairs", examples=pairs)
