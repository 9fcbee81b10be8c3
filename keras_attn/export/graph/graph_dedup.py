"""A smaller graph: nodes that compute the same, once."""

import pathlib

from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import saved_model_pb2

# Half of the nodes of a traced function are constants such as the places of a
# slice, and a server takes its time for each of them when it loads a model.
# These have no state, and no function behind them.
MERGED = {"Const", "Shape", "StridedSlice", "Pack", "Range", "Cast"}


def merge_equal_nodes(folder: str | pathlib.Path) -> None:
    """Rewrite a SavedModel's functions without repeated nodes.

    TensorFlow would merge them too, each time the model is loaded.

    Args:
        folder: Holds `saved_model.pb`, which no other process reads yet.
    """
    path = pathlib.Path(folder) / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for graph in saved.meta_graphs:
        for function in graph.graph_def.library.function:
            _merge(function)
    path.write_bytes(saved.SerializeToString(deterministic=True))


def _merge(function: function_pb2.FunctionDef) -> None:
    nodes = list(function.node_def)
    renamed = {}
    count = None
    # Nodes that have become equal by their inputs are merged the next time.
    while count != len(nodes):
        count = len(nodes)
        nodes = _without_repeats(nodes, renamed)
    # As copies: they belong to the list that is emptied.
    nodes = [node_def_pb2.NodeDef.FromString(_bytes(node)) for node in nodes]
    del function.node_def[:]
    function.node_def.extend(nodes)
    for name, tensor in function.ret.items():
        function.ret[name] = _rename(tensor, renamed)
    for name, node in function.control_ret.items():
        function.control_ret[name] = _rename(node, renamed)


def _without_repeats(nodes, renamed):
    first, kept = {}, []
    for node in nodes:
        if node.op in MERGED:
            name = first.setdefault(_what_it_computes(node), node.name)
            if name != node.name:
                renamed[node.name] = name
                continue
        kept.append(node)
    for node in kept:
        node.input[:] = [_rename(tensor, renamed) for tensor in node.input]
    return kept


def _what_it_computes(node):
    attributes = sorted(
        (name, _bytes(value))
        for name, value in node.attr.items()
        if name != "_output_shapes"
    )
    return node.op, node.device, tuple(node.input), tuple(attributes)


def _rename(tensor, renamed):
    """Rename the node of `node`, `^node` or `node:output:index`."""
    control = "^" if tensor.startswith("^") else ""
    node, *rest = tensor.removeprefix("^").split(":")
    while node in renamed:
        node = renamed[node]
    return control + ":".join([node, *rest])


def _bytes(message):
    return message.SerializeToString(deterministic=True)
