"""From a trained model to a folder that TF Serving runs."""

import pathlib
from collections.abc import Mapping
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_attn.export.bundle import warmup as warmups
from keras_attn.export.bundle.model_card import write_model_card
from keras_attn.export.bundle.recorded_examples import write_examples
from keras_attn.export.bundle.user_requests import add_requests
from keras_attn.export.bundle.versions import new_version
from keras_attn.export.graph.graph_dedup import merge_equal_nodes
from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.utf8 import to_utf8
from keras_attn.export.tasks import registry
from keras_attn.export.tasks.task import Task
from keras_attn.export.verify import verification

MAIN = "serving_default"


def export_model(
    model: keras.Model,
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
    **options,
) -> pathlib.Path:
    """Write a model as a SavedModel, for TF Serving and all that can load one.

        <folder>/<version>/ = graph, weights, vocabularies, examples, card

    What it can be asked depends on the model: see the tasks, `Translation`,
    `TextGeneration` and others. The version appears whole or not at all, and
    is never overwritten.

    Args:
        model: A model of ours, or any functional one, that has its weights.
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
        **options: Further arguments of the task or the search, as `width`.

    Returns:
        The folder of the version.
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
    signatures = add_requests(task.signatures(), warmup)
    if warmup is not False:
        warmups.require_protos()
    writer = new_version(folder, version)
    with writer as partial:
        functions = save(task, signatures, partial)
        examples = _answers(signatures, functions)
        write_examples(partial, examples)
        if warmup is not False:
            requests = [(name, inputs) for name, inputs, _ in examples]
            warmups.write_warmup(partial, requests)
        write_model_card(partial, pathlib.Path(folder).name, metadata)
        if verify:
            verification.verify(partial, verbose=False)
    return writer.path


def save(
    task: Task, signatures: Sequence[Signature], folder: str | pathlib.Path
) -> dict:
    """Write a SavedModel of a task.

    Args:
        task: Holds the weights and the tables.
        signatures: The main one first; it is also "serving_default".
        folder: Where to; it may exist.

    Returns:
        The traced functions by name.
    """
    functions = {each.name: _trace(each) for each in signatures}
    functions = {MAIN: functions[signatures[0].name], **functions}
    tf.saved_model.save(
        task,
        str(folder),
        functions,
        # Whoever serves a model does not train it.
        tf.saved_model.SaveOptions(experimental_custom_gradients=False),
    )
    merge_equal_nodes(folder)
    return functions


def _trace(signature):
    specs = {
        name: tf.TensorSpec(spec.shape, spec.dtype, name)
        for name, spec in signature.inputs.items()
    }

    def respond(**inputs):
        outputs = signature.function(**inputs)
        return {name: _readable(name, outputs[name]) for name in outputs}

    function = tf.function(respond, autograph=False)
    return function.get_concrete_function(**specs)


def _readable(name, output):
    """Make text of strings, which would else be no JSON over REST."""
    # TF Serving writes these in base 64.
    is_text = output.dtype == tf.string and not name.endswith("_bytes")
    return to_utf8(output) if is_text else output


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
