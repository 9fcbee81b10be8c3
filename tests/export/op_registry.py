"""What an older TensorFlow would not understand in a SavedModel.

    python tests/export/op_registry.py tests/export/ops_of_2_19.json

run with the oldest TensorFlow that is to load our exports, writes its ops to
the file that graphs are compared with. It needs nothing but TensorFlow.
"""

import ctypes
import json
import pathlib
import sys

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import saved_model_pb2

OLDEST = pathlib.Path(__file__).with_name("ops_of_2_19.json")


class _Buffer(ctypes.Structure):
    """`TF_Buffer` of tensorflow/c/tf_buffer.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("free", ctypes.c_void_p),
    ]


def registry() -> dict:
    """The ops of this TensorFlow, and which graphs it reads."""
    path = pathlib.Path(tf.__file__).with_name("libtensorflow_cc.so.2")
    library = ctypes.CDLL(str(path))
    library.TF_GetAllOpList.restype = ctypes.POINTER(_Buffer)
    buffer = library.TF_GetAllOpList().contents
    data = ctypes.string_at(buffer.data, buffer.length)
    ops = op_def_pb2.OpList.FromString(data).op
    return {
        "tensorflow": tf.version.VERSION,
        "graph_version": tf.version.GRAPH_DEF_VERSION,
        "min_producer": tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER,
        "ops": {op.name: _facts(op) for op in sorted(ops, key=_name)},
    }


def _name(op):
    return op.name


def _facts(op):
    """Inputs, outputs, attributes and, if it has one, its last version."""
    facts = {
        # For each input the attribute that tells how many tensors it is.
        "in": " ".join(
            arg.number_attr or arg.type_list_attr or "1" for arg in op.input_arg
        ),
        "out": " ".join(arg.name for arg in op.output_arg),
        "attr": {attr.name: _attribute(attr) for attr in op.attr},
    }
    if op.HasField("deprecation"):
        facts["until"] = op.deprecation.version
    return {key: value for key, value in facts.items() if value}


def _attribute(attr):
    """The values that are allowed, if not all; ! if one must be given."""
    allowed = attr.allowed_values.list
    values = [types_pb2.DataType.Name(each)[3:] for each in allowed.type]
    values += [each.decode() for each in allowed.s]
    return ("" if attr.HasField("default_value") else "!") + " ".join(values)


def write(path):
    """Write the registry, a line for each op."""
    found = registry()
    ops = found.pop("ops")
    lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in found]
    rows = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(ops[name], separators=(',', ':'))}"
        for name in ops
    )
    lines.append(f'"ops": {{\n{rows}\n}}')
    pathlib.Path(path).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def of_the_oldest() -> dict:
    """The registry of the oldest TensorFlow that is to load our exports."""
    return json.loads(OLDEST.read_text())


def troubles(folder, registry) -> set[str]:
    """What a TensorFlow with this registry would not understand.

    Args:
        folder: A SavedModel.
        registry: From `registry` or its file.

    Returns:
        A sentence for each trouble; none, if all ops, their inputs, outputs
        and attributes, and the graph's own version are known.
    """
    data = (pathlib.Path(folder) / "saved_model.pb").read_bytes()
    found = set()
    for meta_graph in saved_model_pb2.SavedModel.FromString(data).meta_graphs:
        graph = meta_graph.graph_def
        found |= set(_version_troubles(graph.versions, registry))
        functions = {f.signature.name for f in graph.library.function}
        for nodes in (
            graph.node,
            *(f.node_def for f in graph.library.function),
        ):
            kinds = {node.name: node.op for node in nodes}
            for node in nodes:
                if node.op in functions:
                    continue
                if node.op not in registry["ops"]:
                    found.add(f"there is no op {node.op}")
                    continue
                facts = registry["ops"][node.op]
                if facts.get("until", 2**31) <= graph.versions.producer:
                    found.add(f"{node.op} is not for such new graphs")
                found |= set(_node_troubles(node, facts))
                found |= set(_output_troubles(node, kinds, registry["ops"]))
    return found


def _version_troubles(versions, registry):
    reader = registry["graph_version"]
    if versions.min_consumer > reader or reader in versions.bad_consumers:
        yield f"the graph is not for readers of version {reader}"
    if versions.producer < registry["min_producer"]:
        yield f"the graph is too old: {versions.producer}"


def _node_troubles(node, facts):
    known = facts.get("attr", {})
    for name, value in node.attr.items():
        if name.startswith("_"):
            continue  # notes that every node may have
        if name not in known:
            yield f"{node.op} has no attribute {name}"
            continue
        allowed = known[name].lstrip("!").split(" ")
        given = [*value.list.type, *([value.type] if value.type else [])]
        given = [types_pb2.DataType.Name(each)[3:] for each in given]
        given += [each.decode("latin-1") for each in [value.s] if each]
        if allowed != [""] and not set(given) <= set(allowed):
            yield f"{node.op} has no {name} {given}"
    for name, values in known.items():
        if values.startswith("!") and name not in node.attr:
            yield f"{node.op} needs the attribute {name}"
    wanted = sum(
        1 if count == "1" else _count(node.attr[count])
        for count in facts.get("in", "").split()
    )
    given = sum(not name.startswith("^") for name in node.input)
    if given != wanted:
        yield f"{node.op} takes {wanted} inputs, not {given}"


def _count(value):
    return len(value.list.type) if value.HasField("list") else value.i


def _output_troubles(node, kinds, ops):
    """Functions call outputs by name: "node:output:index"."""
    for name in node.input:
        source, *output = name.split(":")
        facts = ops.get(kinds.get(source))
        # The graph itself counts them: "node:index".
        if facts and len(output) == 2:
            if output[0] not in facts.get("out", "").split():
                yield f"{kinds[source]} has no output {output[0]}"


if __name__ == "__main__":
    write(sys.argv[1])
