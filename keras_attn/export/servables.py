"""A model as it will be served, to be asked in Python."""

import inspect
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.base.wait_notice import WaitNotice
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.tracing import trace
from keras_attn.export.request_rows import columns_of
from keras_attn.export.request_rows import join_batches
from keras_attn.export.request_rows import row_sizes
from keras_attn.export.tasks import registry
from keras_attn.export.tasks.task import Task
from keras_attn.ops.attend import lengths_at_most
from keras_attn.ops.fused.target import lowered_for

BATCH_SIZE = 64


class Servable:
    """What `export_model` writes, which answers in this process.

    Its methods are the verbs of its task, one for each signature: they take
    lists of any size and answer as the served signature does, with the same
    graph. `dir` and `help` list them. `servable` makes one.

    Args:
        task: A model with all that it needs to answer.
        signatures: What it can be asked, as the task says; the main one first.
    """

    def __init__(self, task: Task, signatures: Sequence[Signature]):
        self.task = task
        self.signatures = {each.name: each for each in signatures}
        self._functions = {}

    @property
    def model(self) -> keras.Model:
        """The model that answers; if it is trained on, so do its answers."""
        return self.task.model

    def function(self, verb: str):
        """The traced graph of a verb, which is what `export_model` writes."""
        if verb not in self._functions:
            # A server runs core ops, wherever the model was trained.
            with lengths_at_most(self.task.longest), lowered_for("core"):
                self._functions[verb] = trace(self.signatures[verb])
        return self._functions[verb]

    def ask(
        self,
        verb: str,
        inputs: dict,
        *,
        batch_size: int = BATCH_SIZE,
        verbose: int = 1,
    ) -> dict[str, np.ndarray]:
        """Answer a list of any size.

        Args:
            verb: A name of `signatures`.
            inputs: Lists, arrays or tensors by the signature's names, all
                of as many rows. Strings are `str` or `bytes`. A number stands
                for as many equal ones.
            batch_size: Rows that are answered at once: those of about equal
                lengths.
            verbose: Whether progress is shown if there are more.

        Returns:
            Arrays by the names of the signature's outputs, in the order of
            the inputs. Texts are `str`; outputs named `*_bytes` are `bytes`.
        """
        if verb not in self.signatures:
            raise ValueError(
                f"This servable has no {verb!r}. Its verbs are: "
                f"{', '.join(self.signatures)}."
            )
        argument_checks.integer(batch_size, "batch_size", at_least=1)
        specs = self.signatures[verb].inputs
        columns = columns_of(self.signatures[verb], inputs)
        with WaitNotice("keras_attn.export", f"tracing {verb!r}"):
            function = self.function(verb)
        order = np.argsort(row_sizes(columns), kind="stable")
        # Nothing is asked too, for the shapes of its answer.
        starts = range(0, max(len(order), 1), batch_size)
        progress = None
        if verbose and len(starts) > 1:
            progress = keras.utils.Progbar(len(order), unit_name="row")
        answers = []
        for start in starts:
            rows = order[start : start + batch_size]
            answer = function(
                **{
                    name: tf.constant(column[rows], specs[name].dtype)
                    for name, column in columns.items()
                }
            )
            answers.append(answer)
            if progress:
                progress.update(start + len(rows))
        return {
            name: join_batches(name, [each[name] for each in answers], order)
            for name in answers[0]
        }

    def __getattr__(self, name):
        # Only for what is no verb and nothing else.
        raise AttributeError(
            f"This servable has no {name!r}. Its verbs are: "
            f"{', '.join(self.__dict__.get('signatures', ()))}."
        )

    def __repr__(self):
        verbs = ", ".join(self.signatures)
        return f"<{type(self).__name__} of {self.model.name!r}: {verbs}>"


def servable(
    model: keras.Model,
    *,
    tokenizer=None,
    search: str = "greedy",
    max_length: int | None = None,
    labels: Sequence[str] | None = None,
    xla: bool = False,
    **options,
) -> Servable:
    """Make of a model what `export_model` writes, to be asked at once.

        answer = servable(model, tokenizer=...).translate(["a text", ...])

    Args:
        model, tokenizer, search, max_length, labels, xla, **options: As for
            `export_model`, which also takes what this returns.

    Returns:
        A `Servable`, whose methods are the verbs of the model's task.
    """
    task = registry.for_model(
        model,
        tokenizer=tokenizer,
        search=search,
        max_length=max_length,
        labels=labels,
        xla=xla or None,
        **options,
    )
    signatures = task.signatures()
    # A class of its own, so that `help` and `dir` know its verbs.
    verbs = {each.name: _method(each) for each in signatures}
    kind = type("Servable", (Servable,), verbs | {"__doc__": Servable.__doc__})
    return kind(task, signatures)


def _method(signature):
    """A verb as a method."""

    def method(self, *inputs, batch_size=BATCH_SIZE, verbose=1, **named):
        if len(inputs) > len(signature.inputs):
            raise TypeError(
                f"{signature.name!r} takes {', '.join(signature.inputs)}. "
                f"Received {len(inputs)} inputs."
            )
        inputs = dict(zip(signature.inputs, inputs, strict=False))
        twice = inputs.keys() & named.keys()
        if twice:
            raise TypeError(f"Received {', '.join(twice)} twice.")
        options = {"batch_size": batch_size, "verbose": verbose}
        return self.ask(signature.name, inputs | named, **options)

    parameter = inspect.Parameter
    method.__signature__ = inspect.Signature(
        [
            parameter(name, parameter.POSITIONAL_OR_KEYWORD)
            for name in ("self", *signature.inputs)
        ]
        + [
            parameter(name, parameter.KEYWORD_ONLY, default=value)
            for name, value in (("batch_size", BATCH_SIZE), ("verbose", 1))
        ]
    )
    takes = "\n".join(
        f"    {name}: (batch{''.join(f', {n}' for n in spec.shape[1:])}) "
        f"{spec.dtype.name}."
        for name, spec in signature.inputs.items()
    )
    method.__name__ = method.__qualname__ = signature.name
    method.__doc__ = (
        f"Answer as the signature {signature.name!r} does.\n\n"
        f"Args:\n{takes}\n    batch_size, verbose: As for `ask`."
    )
    return method
