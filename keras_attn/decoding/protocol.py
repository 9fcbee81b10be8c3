"""What a model that writes tokens has, said once."""

from typing import Protocol
from typing import runtime_checkable

import tensorflow as tf


@runtime_checkable
class GenerativeModel(Protocol):
    """A model that writes token after token.

        state[0]            = encode(inputs, max_length)
        logits[t], state[t] = step(token[t - 1], state[t - 1], t)

    No base class: a model has these methods, or is none. It may have more:

    `prompt(inputs) -> (inputs, token)`: it continues what it is given. Parts
        prompts into what `encode` takes and their (batch,) last tokens, which
        the steps start from. Without it, whoever generates gives a start. If
        the inputs have "tokens" and "lengths", penalties count these.
    `teacher_forced(inputs, tokens) -> logits`: (batch, length) tokens to
        (batch, length, vocabulary), in one pass what `step` gives if it is
        fed one of them after the other. Without it, they are fed so.
    `forced_end_id`: What comes last in a text that is cut off, or None.

    Reference:
        Sutskever et al. 2014, section 3. https://arxiv.org/abs/1409.3215
    """

    def encode(self, inputs, max_length: int):
        """Read inputs, as the state that the first step starts from.

        Args:
            inputs: (batch, length) ids, images, or a dictionary of such.
            max_length: How many tokens may follow; room for them is made.

        Returns:
            A nest of tensors whose first axis is the batch: a `State`, which
            tells apart what no step changes, or any other nest.
        """

    def step(self, token, state, index):
        """Go on by one token.

        Args:
            token: (rows,) int32; in a beam search there are several rows for
                each input, one after the other.
            state: What `encode` or the last `step` returned, a row for each
                token.
            index: How many steps came before, a scalar.

        Returns:
            (rows, vocabulary) logits of the next token, and a state of the
            same structure, shapes and dtypes.
        """


def check_generative(model):
    """Refuse a model that cannot write.

    Raises:
        ValueError: If it lacks a method.
    """
    if isinstance(model, GenerativeModel):
        return
    name = "step" if callable(getattr(model, "encode", None)) else "encode"
    raise ValueError(
        "To generate, a model needs the methods `encode` and `step`. "
        f"{type(model).__name__} has no `{name}`. (A clone made by "
        "`keras.models.clone_model` has neither: make it with "
        "`type(model).from_config(model.get_config())`.)"
    )


def continues_prompts(model) -> bool:
    """Whether a model writes on from what it is given."""
    return isinstance(model, GenerativeModel) and hasattr(model, "prompt")


def earlier_tokens(inputs):
    """The tokens of prompts before their last, which penalties count.

    Args:
        inputs: What `prompt` of a model returned.

    Returns:
        (batch, length) int32, -1 where there is none; None if there is
        nothing to know them from.
    """
    if not isinstance(inputs, dict) or not {"tokens", "lengths"} <= {*inputs}:
        return None
    tokens = tf.cast(inputs["tokens"], tf.int32)
    real = tf.sequence_mask(inputs["lengths"], tf.shape(tokens)[1])
    return tf.where(real, tokens, -1)


def forced_end_id(model) -> int | None:
    """The id that a model puts last where a text is cut off."""
    return getattr(model, "forced_end_id", None)
