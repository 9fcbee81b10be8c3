"""Hugging Face's decoders beside ours, read from what they have saved."""

import dataclasses
import functools
import pathlib

import numpy as np
import tensorflow as tf

from keras_attn.decoding import generate
from keras_attn.models import from_huggingface
from tests.models import peers
from tests.models.stepping import step_through

SIZES = {
    "vocab_size": 13,
    "hidden_size": 12,
    "intermediate_size": 10,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "rms_norm_eps": 1e-3,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": None,
}
LENGTHS = (11, 4, 7)
NEW = 9


@dataclasses.dataclass
class Pair:
    """A model of torch, the folder it is saved in, and ours of that folder."""

    peer: object
    folder: pathlib.Path
    side: str

    @functools.cached_property
    def ours(self):
        """The model read from the folder."""
        return from_huggingface(self.folder)

    @functools.cached_property
    def expected(self):
        """The logits of all positions of `rows` but padding."""
        inputs = padded(self.side)
        real = inputs["attention_mask"].astype(bool)
        return peers.ask(self.peer, **inputs)["logits"][real]


def make(family, folder, *, side="left", gain=1, **settings):
    """Make a pair.

    Args:
        family: Such as "Llama".
        folder: Where the model is saved.
        side: Where its batches are padded, "left" or "right".
        gain: What the layers' matrices are multiplied by, where texts would
            be one token again and again.
        settings: Of its config, beside `SIZES`.
    """
    import torch

    # What errors half precision makes depends on the numbers.
    torch.manual_seed(5)
    config = getattr(peers.transformers(), f"{family}Config")
    peer = peers.make(
        f"{family}ForCausalLM", config(**{**SIZES, **settings}), folder
    )
    with torch.no_grad():
        for name, weight in peer.named_parameters():
            if ".layers." in name and weight.ndim > 1:
                weight.mul_(gain)
    peer.save_pretrained(folder)
    return Pair(peer, folder, side)


def rows():
    """Texts of unequal length."""
    rng = np.random.default_rng(7)
    return [rng.integers(1, 13, size=length) for length in LENGTHS]


def ragged():
    """The same as our models take them."""
    return tf.ragged.constant([list(row) for row in rows()])


def padded(side):
    """The same as the models of torch take them."""
    tokens = np.zeros((len(LENGTHS), max(LENGTHS)), "int64")
    mask = np.zeros_like(tokens)
    for number, row in enumerate(rows()):
        start = len(tokens[0]) - len(row) if side == "left" else 0
        tokens[number, start : start + len(row)] = row
        mask[number, start : start + len(row)] = 1
    return {"input_ids": tokens, "attention_mask": mask}


def check_logits(pair):
    """Assert that ours says the same at all positions of `rows`."""
    np.testing.assert_allclose(
        logits_of(pair.ours), pair.expected, rtol=1e-4, atol=1e-4
    )


def check_half_precision(pair):
    """Assert that ours says almost the same in bfloat16."""
    logits = logits_of(from_huggingface(pair.folder, dtype="bfloat16"))
    assert peers.relative_error(logits, pair.expected) < 2e-2


def check_texts_and_steps(pair):
    """Assert that ours writes the same, and steps as it reads at once."""
    expected = texts_of(pair)
    assert len(set(expected.ravel())) > 3
    texts = generate(pair.ours, ragged(), max_length=NEW, end_id=-1)
    np.testing.assert_array_equal(texts, expected)
    # An end in the midst of a text, so that beams end at different lengths.
    end_id = int(expected[0, NEW // 2])
    texts, _ = generate(
        pair.ours,
        ragged(),
        search="beam",
        rule="huggingface",
        width=3,
        length_penalty=1.0,
        max_length=NEW,
        end_id=end_id,
    )
    expected = texts_of(
        pair, num_beams=3, eos_token_id=end_id, pad_token_id=end_id
    )
    found = texts[:, 0, : expected.shape[1]]
    np.testing.assert_array_equal(found, expected)
    steps, at_once = stepped(pair.ours)
    np.testing.assert_allclose(steps, at_once, rtol=1e-4, atol=1e-4)


def logits_of(model):
    """Our logits of all positions of `rows`."""
    logits = np.asarray(tf.cast(model(ragged()), "float32"))
    return np.concatenate(
        [x[:length] for x, length in zip(logits, LENGTHS, strict=True)]
    )


def texts_of(pair, **options):
    """What the model of torch writes after each row."""
    import torch

    inputs = {name: torch.tensor(x) for name, x in padded("left").items()}
    options = {"num_beams": 1, **options}
    answer = pair.peer.generate(
        **inputs, max_new_tokens=NEW, do_sample=False, **options
    )
    return answer[:, max(LENGTHS) :].numpy()


def stepped(model):
    """Logits of tokens after the rows, step by step and all at once."""
    texts = np.random.default_rng(9).integers(1, 13, size=(len(LENGTHS), 4))
    inputs, last = model.prompt(ragged())
    fed = np.concatenate([np.asarray(last)[:, None], texts], axis=1)
    steps, _ = step_through(model, model.encode(inputs, fed.shape[1]), fed)
    return steps, model.teacher_forced(inputs, fed)
