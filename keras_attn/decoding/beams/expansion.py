"""One step of all beams, as both rules of beam search take it."""

import math
from collections.abc import Callable
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.decoding.logits.chunked_top_k import likeliest
from keras_attn.decoding.logits.processors import Constraints
from keras_attn.decoding.state import StateLayout
from keras_attn.decoding.stepping import log_probs_of
from keras_attn.decoding.stepping import stepper


class Expansion:
    """The likeliest continuations of each beam.

        value[v] = constrained(log_softmax(logits))[v]

    Args:
        step: `step(token, state, index) -> (logits, state)`.
        layout: Of the beams' state, (batch · width, ...) leaves.
        start_id: (batch,) first tokens.
        batch_size: Number of rows; a tensor where it is unknown.
        max_length: Most tokens to write.
        width: Number of beams for each row.
        number: How many continuations of a beam there are, at most.
        end_ids: What ends a row.
        last: The index of each row's last token, if it has not ended before:
            a number, or (batch, 1).
        constraints: What is forbidden, forced and less likely.
        renormalise: Whether the others share the probability of
            `forbidden_ids`.
        with_log_probs: Whether each token's own log-probability is kept.
    """

    def __init__(
        self,
        step: Callable,
        layout: StateLayout,
        *,
        start_id,
        batch_size,
        max_length: int,
        width: int,
        number: int,
        end_ids: Sequence[int],
        last,
        constraints: Constraints,
        renormalise: bool,
        with_log_probs: bool,
    ):
        self.layout = layout
        self.batch_size = batch_size
        self.max_length = max_length
        self.width = width
        self.end_ids = end_ids
        self.last = last
        # Where the number is not known, a shape that needs no op to make it.
        self.batch = -1 if tf.is_tensor(batch_size) else batch_size
        self.first_rows = tf.range(batch_size)[:, None] * width
        self.start = tf.repeat(start_id, width)
        self._number = number
        self._constraints = constraints
        self._with_log_probs = with_log_probs
        self._columns = tf.range(max_length)
        self._take = stepper(
            step,
            layout,
            end_ids=end_ids,
            forbidden_ids=constraints.forbidden_ids if renormalise else (),
            named_ids=constraints.ids,
        )
        self._process = constraints.processor(
            start_id, end_ids, width=width, forbid=not renormalise
        )

    def __call__(self, token, leaves, written, index):
        """Take a step.

        Args:
            token: (rows,) last tokens, with rows = batch · width.
            leaves: Of the state.
            written: What `blank` or `write` returned.
            index: How many tokens came before, a scalar.

        Returns:
            (batch, width, number) values, likeliest first; a dictionary of
            (rows, number) "tokens" and what else is written; and the leaves.
        """
        logits, allowed, after = self._take(token, leaves, index)
        number = min(self._number, logits.shape[-1])
        if self._process is None:
            _, ids = likeliest(tf.cast(allowed, tf.float32), number)
            values = log_probs_of(allowed, ids)  # (rows, number)
        else:
            scores = tf.nn.log_softmax(tf.cast(allowed, tf.float32))
            tokens = written["tokens"]
            if self._constraints.look_back:
                come = self._columns < index
                tokens = tf.where(come, tokens, self.start[:, None])
            scores = self._process(scores, tokens, index)
            values, ids = likeliest(scores, number)
        own = values
        values = tf.reshape(values, [self.batch, self.width, number])
        values, ids = self._force(values, ids, index)
        new = {"tokens": ids}
        if self._with_log_probs:
            # Under a constraint, a token has another value than its own.
            changed = self._constraints.ids or self._constraints.processes
            new["log_probs"] = log_probs_of(logits, ids) if changed else own
        return values, new, after

    def blank(self) -> dict:
        """What is written before the first step: (rows, max_length) each."""
        shape = [self.batch_size * self.width, self.max_length]
        written = {"tokens": tf.fill(shape, self.end_ids[0])}
        if self._with_log_probs:
            written["log_probs"] = tf.zeros(shape)
        return written

    def write(self, written, rows, new, index) -> dict:
        """Go on from some rows: (rows,) and, in `new`, a token for each."""
        here = self._columns == index
        return {
            name: tf.where(
                here, tf.expand_dims(new[name], 1), tf.gather(old, rows)
            )
            for name, old in written.items()
        }

    def _force(self, values, ids, index):
        rules = self._constraints
        number = values.shape[-1]
        for forced_id, place in (
            (rules.forced_start_id, 0),
            (rules.forced_end_id, self.last),
        ):
            if forced_id is not None:
                forced = tf.reshape(index == place, [-1, 1, 1])
                values = tf.where(forced, only_first(number), values)
                ids = tf.reshape(ids, [self.batch, self.width, number])
                ids = tf.where(forced, forced_id, ids)
                ids = tf.reshape(ids, [-1, number])
        return values, ids


def only_first(number: int):
    """0 for the first of so many, and -inf for the others."""
    return tf.constant([0.0] + [-math.inf] * (number - 1))
