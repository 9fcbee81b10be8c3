"""What is inside an exported model, read from its files alone."""

import collections
import pathlib

import tensorflow as tf

from keras_attn.export.bundle.text_tables import text_table
from keras_attn.export.bundle.versions import find_version
from keras_attn.export.loader import loaded_model


def inspect(path: str | pathlib.Path, *, verbose: bool = True) -> dict:
    """List the signatures, ops and files of an exported model.

    Args:
        path: A version's folder, or the folder above for the newest.
        verbose: Whether to print tables.

    Returns:
        `{"signatures", "ops", "non_core", "xla", "files"}`: the signatures of
        `LoadedModel`; how often each op occurs, functions included; the ops
        that TensorFlow has only with further libraries; for each signature
        that needs XLA the ops that do, or "jit_compile"; bytes by file.

    Raises:
        FileNotFoundError: If a part of the model is missing.
    """
    folder = find_version(path)
    graph = loaded_model.read_graph(folder)
    functions = {
        function.signature.name: function
        for function in graph.graph_def.library.function
    }
    nodes = list(graph.graph_def.node)
    for function in functions.values():
        nodes += function.node_def
    counts = collections.Counter(
        node.op for node in nodes if node.op not in functions
    )
    signatures = loaded_model.read_signatures(graph)
    xla = {
        name: _needing_xla(graph, functions, signature["outputs"].values())
        for name, signature in signatures.items()
    }
    report = {
        "signatures": signatures,
        "ops": dict(sorted(counts.items())),
        # `tf.raw_ops` lists what every TensorFlow server has.
        "non_core": sorted(op for op in counts if not hasattr(tf.raw_ops, op)),
        "xla": {name: sorted(ops) for name, ops in xla.items() if ops},
        "files": {
            str(file.relative_to(folder)): file.stat().st_size
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        },
    }
    if verbose:
        print(_text(folder, report))
    return report


def _needing_xla(graph, functions, outputs):
    """What only XLA can run, of all that leads to some tensors."""
    nodes = {node.name: node for node in graph.graph_def.node}
    waiting = [info.tensor for info in outputs]
    names = set()
    while waiting:
        name = waiting.pop().lstrip("^").partition(":")[0]
        if name not in names:
            names.add(name)
            waiting += nodes[name].input
    waiting = [nodes[name] for name in names]
    called, found = set(), set()
    while waiting:
        node = waiting.pop()
        if node.op.startswith("Xla"):
            found.add(node.op)
        if _must_compile(node):
            found.add("jit_compile")
        for name in _called(node) & functions.keys():
            if _must_compile(functions[name]):
                found.add("jit_compile")
            if name not in called:
                called.add(name)
                waiting += functions[name].node_def
    return found


def _must_compile(node):
    mark = "_XlaMustCompile"
    return mark in node.attr and node.attr[mark].b


def _called(node):
    """Names of the functions that a node may call."""
    names = {node.op}
    for value in node.attr.values():
        names.add(value.func.name)
        names.update(function.name for function in value.list.func)
    return names


def _text(folder, report):
    parts = [str(folder)]
    rows = [("signature", "", "name", "dtype", "shape")]
    for name, signature in report["signatures"].items():
        for side in ("inputs", "outputs"):
            for key, info in signature[side].items():
                shape = "unknown" if info.shape is None else info.shape
                rows.append((name, side[:-1], key, info.dtype, shape))
                name = ""  # once is enough
    parts.append(text_table(rows))
    rows = [("op", "count", "")]
    needing_xla = {op for ops in report["xla"].values() for op in ops}
    for op, count in report["ops"].items():
        flags = ["not in TensorFlow's core"] * (op in report["non_core"])
        flags += ["needs XLA"] * (op in needing_xla)
        rows.append((op, count, ", ".join(flags)))
    parts.append(text_table(rows, right=(1,)))
    parts.append(
        "".join(
            f"Signature {name!r} needs XLA ({', '.join(ops)}), which TF "
            "Serving switches off.\n"
            for name, ops in report["xla"].items()
        )
        or "No signature needs XLA.\n"
    )
    rows = [("file", "bytes")]
    rows += [(name, f"{size:,}") for name, size in report["files"].items()]
    rows.append(("together", f"{sum(report['files'].values()):,}"))
    parts.append(text_table(rows, right=(1,)))
    return "\n\n".join(part.rstrip() for part in parts)
