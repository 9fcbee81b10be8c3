"""How a servable looks for its answers."""

import inspect
import math
import numbers
from collections.abc import Mapping

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.base.state import State
from keras_attn.decoding.generation import SEARCHES

# What the servable itself tells a search. Of several results it has no use
# for any but the best.
_GIVEN = {
    "step",
    "state",
    "batch_size",
    "max_length",
    "start_id",
    "end_id",
    "return_state",
    "num_results",
    "prompt",
}


class Search:
    """A search with its settings, for rows of different limits.

        log_probability = Σ log p(token[t])

    where p is the model's own, without temperature or penalty, and an end
    that the model wrote is a token too.

    Args:
        model: Has `step(token, state, index) -> (logits, state)`.
        name: "greedy", "sample" or "beam".
        max_length: The most tokens of an answer.
        end_id: Ends an answer.
        options: Further arguments of the search, such as `width`. Sampling
            has the seed 0 if none is given, and the same for each row, so
            that a text has one answer, whatever its batch. The model's own
            `forced_end_id` is the default.
    """

    def __init__(
        self,
        model,
        name: str = "greedy",
        *,
        max_length: int,
        end_id: int,
        options: Mapping | None = None,
    ):
        self.name = name
        self.max_length = max_length
        self.end_id = end_id
        forced = getattr(model, "forced_end_id", None)
        default = {} if forced is None else {"forced_end_id": forced}
        self.options = default | dict(options or {})
        _check(name, self.options)
        # One function in the file, however many signatures step through it.
        self._step = tf.function(model.step, autograph=False)

    def find(self, state, start_id, limits, *, keep_state: bool = False):
        """Look for answers.

        Args:
            state: What the model's `encode` returned.
            start_id: (batch,) int32, the first tokens that are fed.
            limits: (batch,) int32, the most tokens of each row; 0 for a row
                that needs no answer.
            keep_state: Whether the last state is returned too.

        Returns:
            `{"tokens": (batch, max_length), "lengths": (batch,),
            "log_probability": (batch,)}`, then `"state"`. The lengths count
            the end; after it there is nothing but ends.
        """
        options = dict(self.options)
        if self.name == "sample":
            # Not one seed for all, which would tell rows by their places.
            seed = options.get("seed") or 0
            options["seed"] = tf.fill([tf.shape(limits)[0]], seed)
        changed = options.keys() & {"forbidden_ids", "forced_end_id"}
        if self.name == "beam" and not changed:
            return self._beam(options, state, start_id, limits, keep_state)
        return self._run(self.name, options, state, start_id, limits)

    def draw(self, state, start_id, limits, temperature, seed):
        """Look for answers by sampling, each row in its own way.

        Args:
            state, start_id, limits: As in `find`.
            temperature: (batch,) float32; 0 takes the likeliest tokens.
            seed: (batch,) int64.

        Returns:
            As `find` does.
        """
        taken = _options_of("sample")
        options = {k: v for k, v in self.options.items() if k in taken}
        options.update(temperature=temperature, seed=seed)
        return self._run("sample", options, state, start_id, limits)

    def follow(self, state, start_id, limits, answers):
        """Write answers that are given, and see how likely they are.

        Args:
            state, start_id, limits: As in `find`.
            answers: (batch, max_length) ids.

        Returns:
            As `find` does.
        """
        return self._run("greedy", {}, state, start_id, limits, answers)

    def _run(self, name, options, state, start_id, limits, answers=None):
        rows = tf.shape(limits)[0]
        constant = {"limits": limits}
        if answers is not None:
            constant["answers"] = answers
        tokens, *_, state = SEARCHES[name](
            self._bounded_step,
            _around(
                state,
                constant,
                total=tf.zeros([rows]),
                logits=tf.zeros([rows, self._vocabulary(start_id, state)]),
            ),
            return_state=True,
            **self._settings(start_id),
            **options,
        )
        tokens = tf.reshape(tokens, [rows, self.max_length])
        lengths = self._lengths(tokens)
        last = tf.gather(tokens, lengths - 1, batch_dims=1)
        return {
            "tokens": tokens,
            "lengths": tf.minimum(lengths, limits),
            "log_probability": _add_last(state, last, lengths),
            "state": _model_state(state),
        }

    def _beam(self, options, state, start_id, limits, keep_state):
        """Beam search, which keeps sums of its own: another costs time."""
        tokens, scores, *states = SEARCHES["beam"](
            self._bounded_step,
            _around(state, {"limits": limits}),
            return_state=keep_state,
            **self._settings(start_id),
            **options,
        )
        tokens = tokens[:, 0]
        lengths = self._lengths(tokens)
        penalty = options.get("length_penalty", 0.0)
        found = {
            "tokens": tokens,
            "lengths": tf.minimum(lengths, limits),
            "log_probability": scores[:, 0]
            * ((5 + tf.cast(lengths, tf.float32)) / 6) ** penalty,
        }
        if keep_state:
            found["state"] = _model_state(states[0])
        return found

    def _settings(self, start_id):
        return {
            "batch_size": tf.shape(start_id)[0],
            "max_length": self.max_length,
            "start_id": start_id,
            "end_id": self.end_id,
        }

    def _bounded_step(self, token, state, index):
        """A step of the model that ends each row at its limit."""
        constant = state.constant
        logits, after = self._step(token, _model_state(state), index)
        carried = {"model": after.carried if "model" in constant else after}
        if "total" in state.carried:
            carried["total"] = _add_last(state, token, index)
            carried["logits"] = tf.cast(logits, tf.float32)
        forced, is_forced = self.end_id, index >= constant["limits"]
        if "answers" in constant:
            given = tf.gather(constant["answers"], index, axis=1)
            forced, is_forced = tf.where(is_forced, self.end_id, given), True
        elif "forced_end_id" in self.options:
            last = index == constant["limits"] - 1
            forced = tf.where(last, self.options["forced_end_id"], self.end_id)
            is_forced |= last
        only = tf.one_hot(
            forced,
            logits.shape[-1],
            on_value=tf.zeros((), logits.dtype),
            off_value=tf.constant(-math.inf, logits.dtype),
        )
        is_forced = tf.reshape(is_forced, [-1, 1])
        logits = tf.where(is_forced, only, logits)
        return logits, state._replace(carried=carried)

    def _vocabulary(self, token, state):
        function = self._step.get_concrete_function(
            token, state, tf.constant(0)
        )
        return function.structured_outputs[0].shape[-1]

    def _lengths(self, tokens):
        going_on = tf.cast(tokens != self.end_id, tf.int32)
        before = tf.reduce_sum(tf.math.cumprod(going_on, axis=1), axis=1)
        return tf.minimum(before + 1, self.max_length)


def _around(state, constant, **carried):
    """Put more into a model's state."""
    if isinstance(state, State):
        constant = {**constant, "model": state.constant}
        state = state.carried
    return State({"model": state, **carried}, constant)


def _model_state(state):
    carried = state.carried["model"]
    if "model" in state.constant:
        return State(carried, state.constant["model"])
    return carried


def _add_last(state, token, number):
    """Add the newest token's log-probability to the sum of those before.

    Args:
        state: With the logits that the token was chosen by.
        token: (rows,) ids.
        number: How many tokens there are with it; (rows,) or a number.
    """
    logits = state.carried["logits"]
    score = tf.gather(logits, token, batch_dims=1)
    score -= tf.reduce_logsumexp(logits, axis=-1)
    # The first token that is fed was given, and an end at the limit was not
    # the model's own.
    written = (number > 0) & (number <= state.constant["limits"])
    return state.carried["total"] + tf.where(written, score, 0.0)


def _options_of(name):
    return inspect.signature(SEARCHES[name]).parameters.keys() - _GIVEN


def _check(name, options):
    argument_checks.choice(name, "search", SEARCHES)
    taken = _options_of(name)
    unknown = sorted(options.keys() - taken)
    if unknown:
        raise ValueError(
            f"The search {name!r} takes {', '.join(sorted(taken))}. Received: "
            f"{', '.join(unknown)}"
        )
    for key, value in options.items():
        if key == "forbidden_ids":
            continue
        if not isinstance(value, numbers.Real):
            raise ValueError(
                f"`{key}` must be a number: it is part of the servable. What "
                "differs from row to row is an input of the signature that "
                f"takes options. Received: {key}={value!r}"
            )
