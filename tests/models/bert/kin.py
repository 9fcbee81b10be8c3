"""BERT's kin of Hugging Face beside ours, on ragged batches."""

import numpy as np
import tensorflow as tf

from keras_attn import models
from tests.models import peers

LENGTHS = (6, 2, 5)
LABELS = 3

# The end of a class's name, our head, and its outputs by theirs.
HEADS = {
    "Model": (None, {"sequence": "last_hidden_state"}),
    "ForMaskedLM": ("masked_lm", "logits"),
    "ForSequenceClassification": ("classification", "logits"),
    "ForTokenClassification": ("token_classification", "logits"),
    "ForQuestionAnswering": (
        "span",
        {"start": "start_logits", "end": "end_logits"},
    ),
}


def compare(name, config, folder, *, pad_id, rng, dtype="float32"):
    """Compare what a folder answers here with what transformers says.

    Args:
        name: Of transformers' class.
        config: Its settings, with at least 11 ids.
        folder: To save it in.
        pad_id: The id of padding, of which theirs is full and ours ragged.
        rng: Of NumPy.
        dtype: Ours.

    Returns:
        Our model.
    """
    peer = peers.make(name, config, folder)
    rows = [rng.integers(3, 11, size=length) for length in LENGTHS]
    tokens = np.full((len(rows), max(LENGTHS)), pad_id)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row
    real = tokens != pad_id
    expected = peers.ask(
        peer, input_ids=tokens, attention_mask=real.astype("int64")
    )
    model = models.from_huggingface(folder, dtype=dtype)
    ragged = tf.ragged.constant([row.tolist() for row in rows])
    outputs = model({"tokens": ragged, "segments": tf.zeros_like(ragged)})
    head = next(HEADS[end] for end in HEADS if name.endswith(end))[0]
    fields = next(HEADS[end] for end in HEADS if name.endswith(end))[1]
    if isinstance(fields, str):
        outputs, fields = {head: outputs}, {head: fields}
    for ours, theirs in fields.items():
        one = np.array(tf.cast(outputs[ours], tf.float32))
        two = expected[theirs]
        if one.shape[1] == max(LENGTHS):
            one, two = one[real], two[real]
        difference = np.abs(one - two).max()
        if dtype == "float32":
            assert difference < 1e-4
        else:
            assert 0 < difference < 2e-2 * np.abs(two).max()
    return model
