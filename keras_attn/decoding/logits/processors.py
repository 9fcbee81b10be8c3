"""What a search is told to avoid, to force and to find less likely."""

import dataclasses
import math
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.decoding import arguments
from keras_attn.decoding import options
from keras_attn.decoding.logits import filters
from keras_attn.decoding.logits.repeated_ngrams import forbid_repeats


@dataclasses.dataclass(frozen=True)
class Constraints:
    """The rules that every search keeps, whatever the model finds likely.

        penalty, n-grams, forbidden ids, least length, forced ids, first step

    in this order, which is that of transformers' `generate`; what is forced
    comes even if it is forbidden. They act on logits, in a beam search on
    log-probabilities, which then no longer sum to 1. What is not asked for
    is no op in the graph.

    Args:
        forbidden_ids: Ids that never come.
        begin_forbidden_ids: Ids that do not come first; after a forced start,
            not second.
        forced_start_id: Comes first.
        forced_end_id: Comes last in a row that has not ended before.
        min_length: A row does not end before it has so many tokens.
        repetition_penalty: Divides logits above 0 of what has come, and
            multiplies those below: a number, or (batch,).
        no_repeat_ngram_size: No run of so many tokens comes twice; 0 for any.
        prompt: (batch, length) ids that came before the start; negative ones
            are none.
    """

    forbidden_ids: Sequence[int] = ()
    begin_forbidden_ids: Sequence[int] = ()
    forced_start_id: int | None = None
    forced_end_id: int | None = None
    min_length: int = 0
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    prompt: object = None

    def __post_init__(self):
        options.check("repetition_penalty", self.repetition_penalty)
        for name in ("min_length", "no_repeat_ngram_size"):
            arguments.whole_number(getattr(self, name), name, at_least=0)
        for name in ("forced_start_id", "forced_end_id"):
            if getattr(self, name) is not None:
                arguments.whole_number(getattr(self, name), name, at_least=0)
        for name in ("forbidden_ids", "begin_forbidden_ids"):
            numbers = arguments.ids(getattr(self, name), name)
            object.__setattr__(self, name, numbers)

    @property
    def ids(self) -> list[int]:
        """Every id that is named, to be checked against the vocabulary."""
        forced = (self.forced_start_id, self.forced_end_id)
        forced = [number for number in forced if number is not None]
        return [*self.forbidden_ids, *self.begin_forbidden_ids, *forced]

    @property
    def look_back(self) -> bool:
        """Whether what has come before matters."""
        return looks_back(self.repetition_penalty, self.no_repeat_ngram_size)

    @property
    def processes(self) -> bool:
        """Whether there is more to do than to forbid and to force."""
        return bool(
            self.look_back or self.min_length or self.begin_forbidden_ids
        )

    def force(self, token, index, last):
        """Put forced tokens in place of those that were chosen.

        Args:
            token: (batch,) or any shape that `last` fits.
            index: How many tokens came before, a scalar.
            last: The index at which a row ends at the latest.
        """
        if self.forced_start_id is not None:
            token = tf.where(index == 0, self.forced_start_id, token)
        if self.forced_end_id is not None:
            token = tf.where(index == last, self.forced_end_id, token)
        return token

    def processor(
        self,
        start_id,
        end_ids: Sequence[int],
        *,
        width: int = 1,
        forbid: bool = False,
    ) -> Callable | None:
        """Make what is applied in each step; None if nothing is.

        Args:
            start_id: (batch,) first tokens.
            end_ids: What ends a row.
            width: How many beams a row has, one after the other.
            forbid: Whether `forbidden_ids` are part of it.

        Returns:
            A function (scores, tokens, index) -> scores: (rows, vocabulary)
            float32; `tokens`, (rows, max_length), holds at `index` and later
            what may as well have come, such as the start.
        """
        if not self.processes and not (forbid and self.forbidden_ids):
            return None
        steps = []
        if looks_back(self.repetition_penalty):
            steps.append(self._penalise(start_id, width))
        if self.no_repeat_ngram_size:
            steps.append(self._forbid_repeats(start_id, width))
        if forbid and self.forbidden_ids:
            steps.append(_forbid(self.forbidden_ids, lambda index: True))
        if self.min_length and end_ids[0] >= 0:
            steps.append(
                _forbid(end_ids, lambda index: index < self.min_length)
            )
        if self.begin_forbidden_ids:
            begin = int(self.forced_start_id is not None)
            steps.append(
                _forbid(self.begin_forbidden_ids, lambda index: index == begin)
            )

        def process(scores, tokens, index):
            scores = tf.cast(scores, tf.float32)
            for step in steps:
                scores = step(scores, tokens, index)
            return scores

        return process

    def _penalise(self, start_id, width):
        rows = start_id.shape[0]
        (penalty,) = options.check_each(
            tf.shape(start_id)[0] if rows is None else rows,
            repetition_penalty=self.repetition_penalty,
        )
        if tf.is_tensor(penalty):
            penalty = _repeat(penalty, width)
        earlier = []
        if self.prompt is not None:
            prompt = tf.cast(self.prompt, tf.int32)
            prompt = tf.where(prompt < 0, start_id[:, None], prompt)
            earlier = [_repeat(prompt, width)]

        def step(scores, tokens, index):
            seen = tf.concat([*earlier, tokens], axis=1)
            return filters.penalise(scores, seen, penalty)

        return step

    def _forbid_repeats(self, start_id, width):
        size = self.no_repeat_ngram_size
        # Room for what a run would begin with, before there is so much.
        none = tf.fill([tf.shape(start_id)[0], size - 1], -1)
        earlier = [none, start_id[:, None]]
        if self.prompt is not None:
            prompt = tf.cast(self.prompt, tf.int32)
            # Tokens after what is none, so that runs of them are unbroken.
            order = tf.argsort(tf.cast(prompt >= 0, tf.int32), stable=True)
            earlier.insert(1, tf.gather(prompt, order, batch_dims=1))
        earlier = _repeat(tf.concat(earlier, axis=1), width)

        def step(scores, tokens, index):
            history = tf.concat([earlier, tokens], axis=1)
            came = tf.shape(earlier)[1] + index
            return forbid_repeats(scores, history, came, size)

        return step


def looks_back(repetition_penalty=1.0, no_repeat_ngram_size=0) -> bool:
    """Whether such options make a search read what came before."""
    fixed = not tf.is_tensor(repetition_penalty)
    idle = fixed and np.ndim(repetition_penalty) == 0
    return not (idle and repetition_penalty == 1) or no_repeat_ngram_size > 0


def hidden(ids: Sequence[int], logits):
    """-inf at some ids and 0 elsewhere, like the logits: (vocabulary,)."""
    values = np.zeros(logits.shape[-1])
    values[list(ids)] = -math.inf
    return tf.constant(values, logits.dtype)


def _forbid(ids, when):
    """Hide ids at the steps at which `when(index)`."""

    def step(scores, tokens, index):
        now = when(index)
        low = hidden(ids, scores)
        return scores + (low if now is True else tf.where(now, low, 0.0))

    return step


def _repeat(rows, times):
    return rows if times == 1 else tf.repeat(rows, times, axis=0)
