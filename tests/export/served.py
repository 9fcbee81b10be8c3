"""Tasks saved and asked as a server does it."""

import tensorflow as tf

from keras_attn.export import exporting
from keras_attn.export import loaded
from keras_attn.export import separate_process


def save(task, folder, *verbs):
    """Write a SavedModel with some signatures of a task."""
    signatures = {each.name: each for each in task.signatures()}
    exporting.save(task, [signatures[verb] for verb in verbs], folder)
    return folder


def ask(folder, requests):
    """Answers of the C++ loader to (signature, inputs), from one process."""
    signatures = loaded.read_signatures(loaded.read_graph(folder))
    results = separate_process.run_each(
        folder,
        [loaded.request(signatures, name, inputs) for name, inputs in requests],
    )
    refusals = [result for result in results if "message" in result]
    assert not refusals
    return [
        dict(zip(signatures[name]["outputs"], result["arrays"], strict=True))
        for (name, _), result in zip(requests, results, strict=True)
    ]


def other_ops(folder):
    """Ops that a server may not have, or may have switched off."""
    graph = loaded.read_graph(folder).graph_def
    nodes = list(graph.node)
    for function in graph.library.function:
        nodes.extend(function.node_def)
    names = {function.signature.name for function in graph.library.function}
    ops = {node.op for node in nodes} - names
    # `tf.raw_ops` lists what every TensorFlow server has.
    return {
        op
        for op in ops
        if not hasattr(tf.raw_ops, op) or "Xla" in op or "PyFunc" in op
    }
