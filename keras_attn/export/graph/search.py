"""How a servable searches for its answers."""

import inspect
import numbers
from collections.abc import Mapping

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.decoding import arguments
from keras_attn.decoding.answer_mask import answer_mask
from keras_attn.decoding.generation import SEARCHES
from keras_attn.decoding.logits.processors import looks_back
from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.decoding.protocol import forced_end_id

# What the servable itself tells a search. Of several results it has no use
# for any but the best.
_GIVEN = {
    "step",
    "state",
    "batch_size",
    "max_length",
    "start_id",
    "end_id",
    "limits",
    "return_log_probs",
    "return_state",
    "num_results",
    "prompt",
}

# Options that are lists, and those that may be words, which the search checks.
_IDS = ("forbidden_ids", "begin_forbidden_ids")
_WORDS = ("rule", "early_stopping")


class Search:
    """A search with its settings, for rows of different limits.

        log_probability = Σ log p(token[t])

    where p is the model's own, without temperature or penalty, and an end
    that the model wrote is a token too.

    Args:
        model: Writes token by token.
        name: "greedy", "sample" or "beam".
        max_length: The most tokens of an answer.
        end_id: Ends an answer, if the options do not have an `end_id`.
        options: Further arguments of the search, such as `width`, and
            `end_id`, one or several. Sampling has the seed 0 if none is
            given, and the same for each row, so that a text has one answer,
            whatever its batch. The model's own `forced_end_id` is the
            default.
    """

    def __init__(
        self,
        model: GenerativeModel,
        name: str = "greedy",
        *,
        max_length: int,
        end_id: int,
        options: Mapping | None = None,
    ):
        self.name = name
        options = dict(options or {})
        given = options.pop("end_id", None)
        self.max_length = max_length
        self.end_ids = arguments.end_ids(end_id if given is None else given)
        forced = forced_end_id(model)
        default = {} if forced is None else {"forced_end_id": forced}
        self.options = default | options
        _check(name, self.options)
        self.reads_prompts = looks_back(
            self.options.get("repetition_penalty", 1.0),
            self.options.get("no_repeat_ngram_size", 0),
        )
        # Not a function of its own: what no step changes, such as joined
        # weights, is made before the loop that it is part of.
        self._step = model.step

    def find(self, state, start_id, limits, prompt=None):
        """Search for answers.

        Args:
            state: What the model's `encode` returned.
            start_id: (batch,) int32, the first tokens that are fed.
            limits: (batch,) int32, the most tokens of each row; 0 for a row
                that needs no answer.
            prompt: (batch, length) int32, what came before the first tokens,
                -1 where there is none; for a search that `reads_prompts`.

        Returns:
            `{"tokens": (batch, max_length), "lengths": (batch,),
            "log_probability": (batch,)}`. The lengths count the end; after it
            there is nothing but ends.
        """
        options = dict(self.options)
        if self.name == "sample":
            # Not one seed for all, which would tell rows by their index.
            seed = options.get("seed") or 0
            options["seed"] = tf.fill([tf.shape(limits)[0]], seed)
        return self._run(self.name, options, state, start_id, limits, prompt)

    def draw(self, state, start_id, limits, temperature, seed, prompt=None):
        """Search for answers by sampling, each row in its own way.

        Args:
            state, start_id, limits, prompt: As in `find`.
            temperature: (batch,) float32; 0 takes the most probable tokens.
            seed: (batch,) int64.

        Returns:
            As `find` does.
        """
        taken = _options_of("sample")
        options = {k: v for k, v in self.options.items() if k in taken}
        options.update(temperature=temperature, seed=seed)
        return self._run("sample", options, state, start_id, limits, prompt)

    def _run(self, name, options, state, start_id, limits, prompt):
        tokens, *_, log_probs = SEARCHES[name](
            self._step,
            state,
            batch_size=tf.shape(limits)[0],
            max_length=self.max_length,
            start_id=start_id,
            end_id=self.end_ids,
            limits=limits,
            prompt=prompt,
            return_log_probs=True,
            **options,
        )
        if name == "beam":
            tokens, log_probs = tokens[:, 0], log_probs[:, 0]
        real = answer_mask(tokens, self.end_ids, limits[:, None])
        return {
            "tokens": tokens,
            "lengths": tf.reduce_sum(tf.cast(real, tf.int32), axis=1),
            "log_probability": tf.reduce_sum(log_probs, axis=1),
        }


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
        if key in _IDS:
            arguments.ids(value, key)
        elif key not in _WORDS and not isinstance(value, numbers.Real):
            raise ValueError(
                f"`{key}` must be a number: it is part of the servable. What "
                "differs from row to row is an input of the signature that "
                f"takes options. Received: {key}={value!r}"
            )
