"""Encoder-decoders of Hugging Face, asked as ours are."""

import numpy as np
import tensorflow as tf

from keras_attn.decoding import generate
from tests.models import peers

SOURCE_LENGTHS, TARGET_LENGTHS = (7, 4, 1, 6), (2, 6, 5, 1)
NUM_TOKENS = 12
# What the BART and the Marian of the tests have in common.
BART_SETTINGS = {
    "d_model": 8,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 10,
    "decoder_ffn_dim": 10,
    "max_position_embeddings": 24,
    "forced_eos_token_id": None,
}


class Rows:
    """Rows of different lengths.

    Args:
        rng: Draws the ids.
        most: Ids are below that, and above `pad_id` or below it.
        pad_id: What fills up rows.
        lengths: Of the rows.
        start_id: What rows begin with, if given; it may be `pad_id`.
    """

    def __init__(self, rng, most, pad_id, lengths, start_id=None):
        ids = [number for number in range(most) if number != pad_id]
        start = [] if start_id is None else [start_id]
        self.rows = [
            [*start, *rng.choice(ids, size=length)][:length]
            for length in lengths
        ]
        self.pad_id = pad_id

    def ragged(self):
        """As ours takes them."""
        return tf.ragged.constant(self.rows, dtype="int32")

    def padded(self, *, left=False):
        """As theirs takes them: ids, and 1 where there is one."""
        length = max(map(len, self.rows))
        ids, mask = [], []
        for row in self.rows:
            missing = length - len(row)
            fill, none = [self.pad_id] * missing, [0] * missing
            ones = [1] * len(row)
            ids.append([*fill, *row] if left else [*row, *fill])
            mask.append([*none, *ones] if left else [*ones, *none])
        return np.array(ids), np.array(mask)


def rows_for(config, rng, *, target_size=None):
    """Sources and targets that a model reads.

    Args:
        config: Theirs.
        rng: Draws the ids.
        target_size: The target's vocabulary, where it is not the source's.

    Returns:
        `Rows` of both.
    """
    pad_id, start_id = config.pad_token_id, config.decoder_start_token_id
    target_size = target_size or config.vocab_size
    return (
        Rows(rng, config.vocab_size, pad_id, SOURCE_LENGTHS),
        Rows(rng, target_size, pad_id, TARGET_LENGTHS, start_id),
    )


def logits_of_both(model, peer, source, target, *, left=False):
    """What ours and theirs say at every real place of the targets.

    Args:
        model: Ours.
        peer: Theirs.
        source, target: `Rows`.
        left: Whether their sources are filled up on the left.

    Returns:
        (places, vocabulary) logits of ours, and of theirs.
    """
    source_ids, source_mask = source.padded(left=left)
    target_ids, target_mask = target.padded()
    expected = peers.ask(
        peer,
        input_ids=source_ids,
        attention_mask=source_mask,
        decoder_input_ids=target_ids,
        decoder_attention_mask=target_mask,
    )["logits"]
    given = {"source": source.ragged(), "target": target.ragged()}
    found = tf.cast(model(given), "float32").numpy()
    real = target_mask.astype("bool")
    return found[real], expected[real]


def texts_of_both(model, peer, source, *, start_id, num_beams=1):
    """What ours and theirs write, up to the end.

    Random models rarely end, so the end is a token that they do write.

    Args:
        model: Ours.
        peer: Theirs, whose settings name no end.
        source: `Rows`.
        start_id: What ours is to start with.
        num_beams: For a search with beams, 2 or more.

    Returns:
        Two lists of lists of ids, and the end.
    """
    peer.generation_config.eos_token_id = None
    free = _their_texts(peer, source, num_beams)
    written = {token for text in free for token in text}
    # Beams that may end take other ways, so the likeliest end may be none.
    for end_id in sorted(written, key=lambda token: -_places(token, free)):
        peer.generation_config.eos_token_id = end_id
        expected = _their_texts(peer, source, num_beams)
        if _places(end_id, expected) > 1:
            break
    beams = {"search": "beam", "rule": "huggingface", "width": num_beams}
    found = generate(
        model,
        source.ragged(),
        max_length=NUM_TOKENS,
        start_id=start_id,
        end_id=end_id,
        # Theirs divides by the length unless it is told not to.
        **(beams | {"length_penalty": 1.0} if num_beams > 1 else {}),
    )
    found = found[0][:, 0] if num_beams > 1 else found
    found = [_up_to(end_id, row) for row in found.numpy().tolist()]
    return found, [_up_to(end_id, row) for row in expected], end_id


def check_varied(answers):
    """Refuse answers that any model might have given."""
    assert len({len(answer) for answer in answers}) > 1, answers
    assert len({token for text in answers for token in text}) > 4, answers


def _their_texts(peer, source, num_beams=1):
    import torch

    ids, mask = source.padded()
    texts = peer.generate(
        torch.tensor(ids),
        attention_mask=torch.tensor(mask),
        max_new_tokens=NUM_TOKENS,
        num_beams=num_beams,
        do_sample=False,
    )
    return texts[:, 1:].tolist()


def _up_to(end_id, row):
    return row[: row.index(end_id) + 1] if end_id in row else row


def _places(token, rows):
    """At how many different places rows have a token first."""
    return len({len(_up_to(token, row)) for row in rows})
