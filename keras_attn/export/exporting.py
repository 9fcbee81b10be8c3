"""From a trained model to a folder that TF Serving runs."""

import pathlib
from collections.abc import Mapping
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_attn.base.wait_notice import WaitNotice
from keras_attn.export.bundle import warmup as warmups
from keras_attn.export.bundle.model_card import write_model_card
from keras_attn.export.bundle.recorded_examples import write_examples
from keras_attn.export.bundle.user_requests import add_requests
from keras_attn.export.bundle.versions import new_version
from keras_attn.export.graph.graph_dedup import merge_equal_nodes
from keras_attn.export.servables import Servable
from keras_attn.export.servables import servable
from keras_attn.export.verify import half_precision
from keras_attn.export.verify import verification

MAIN = "serving_default"


def export_model(
    model: keras.Model | Servable,
    folder: str | pathlib.Path,
    *,
    tokenizer=None,
    search: str = "greedy",
    max_length: int | None = None,
    labels: Sequence[str] | None = None,
    version: int | None = None,
    warmup: Sequence | bool | None = None,
    metadata: Mapping | None = None,
    xla: bool = False,
    verify: bool = True,
    verbose: bool = True,
    **options,
) -> pathlib.Path:
    """Write a model as a SavedModel, for TF Serving and all that can load one.

        <folder>/<version>/ = graph, weights, vocabularies, examples, card

    What it can be asked depends on the model: see the tasks, `Translation`,
    `TextGeneration` and others. The version appears whole or not at all, and
    is never overwritten.

    Args:
        model: A model of ours, or any functional one, that has its weights;
            or what `servable` made of it, with its settings.
        folder: Where the versions of this model are; its name is the model's
            in the server.
        tokenizer: The one that the model was trained with; where source and
            target differ, `{"source": ..., "target": ...}`.
        search: "greedy", "sample" or "beam", for a model that writes.
        max_length: The most tokens that it writes; for others, that it reads.
        labels: Names of the classes.
        version: A number that is not there yet; one more than the newest if
            None.
        warmup: Texts or requests to try it with, besides its own examples;
            False to leave out TF Serving's warm-up file, which needs the
            extra `serving`.
        metadata: What the model card tells: "description", "data", "scores".
        xla: Whether there are compiled signatures too, named `*_xla`.
        verify: Whether it must answer in the C++ loader before it appears.
        verbose: Whether standard error says what is being done, if that takes
            more than some seconds.
        **options: Further arguments of the task or the search, as `width`.

    Returns:
        The folder of the version.
    """
    settings = {
        "tokenizer": tokenizer,
        "search": search,
        "max_length": max_length,
        "labels": labels,
        "xla": xla,
        **options,
    }
    if isinstance(model, Servable):
        _check_no_settings(settings)
        made = model
    else:
        made = servable(model, **settings)
    signatures = add_requests([*made.signatures.values()], warmup)
    if warmup is not False:
        warmups.require_protos()
    writer = new_version(folder, version)
    notice = WaitNotice("keras_attn.export", "tracing", verbose=verbose)
    with writer as partial, notice:
        functions = save(made, partial, notice)
        notice.say("asking the examples")
        examples = _answers(signatures, functions)
        write_examples(partial, examples)
        if verify:
            notice.say("asking the C++ loader")
            half_precision.record_served_answers(partial)
        if warmup is not False:
            requests = [(name, inputs) for name, inputs, _ in examples]
            warmups.write_warmup(partial, requests)
        write_model_card(partial, pathlib.Path(folder).name, metadata)
        if verify:
            notice.say("verifying in the C++ loader")
            verification.verify(partial, verbose=False)
    return writer.path


def save(
    made: Servable,
    folder: str | pathlib.Path,
    notice: WaitNotice | None = None,
) -> dict:
    """Write a SavedModel of a servable.

    Args:
        made: Holds the weights, the tables and the graphs. Its first
            signature is also "serving_default".
        folder: Where to; it may exist.
        notice: Says what is being done.

    Returns:
        The traced functions by name.
    """
    notice = notice or WaitNotice("keras_attn.export", "tracing")
    verbs = list(made.signatures)
    functions = {MAIN: None}
    for number, verb in enumerate(verbs, 1):
        notice.say(f"tracing {verb!r}, {number} of {len(verbs)}")
        functions[verb] = made.function(verb)
    functions[MAIN] = functions[verbs[0]]
    notice.say("writing the graph and the weights")
    tf.saved_model.save(
        made.task,
        str(folder),
        functions,
        # Whoever serves a model does not train it.
        tf.saved_model.SaveOptions(experimental_custom_gradients=False),
    )
    merge_equal_nodes(folder)
    return functions


def _check_no_settings(settings):
    usual = {"search": "greedy", "xla": False}
    given = [k for k, v in settings.items() if v != usual.get(k)]
    if given:
        raise ValueError(
            "A servable has its settings already: give them to `servable`. "
            f"Received: {', '.join(given)}"
        )


def _answers(signatures, functions):
    """For each example its signature, request and answer."""
    named = [(each.name, each) for each in signatures if not each.compiled]
    # The server has the main one under two names, and warms up each.
    named.insert(0, (MAIN, signatures[0]))
    answers = []
    for name, signature in named:
        for example in signature.examples:
            inputs = {k: tf.constant(v) for k, v in example.items()}
            outputs = functions[name](**inputs)
            arrays = {k: output.numpy() for k, output in outputs.items()}
            answers.append((name, example, arrays))
    return answers
