"""A step as a function of its variables' values."""

import tensorflow as tf

from keras_attn.training.accelerator.without_handles import Functions


def functional_step(function):
    """Make arguments and results of a function's variables.

        step(x), which reads and assigns w  ->  step(x, w) = results, new w

    TensorFlow's TPU build knows no device where there is no TPU, and so no
    variables: it lowers functions of tensors alone.

    Args:
        function: A concrete function.

    Returns:
        A `GraphDef` of placeholders and of one call named "step": of the
        function's arguments, then of each variable's value. The call gives
        the function's results, then new values of variables that it assigns.
        And the numbers of the placeholders that these are of.
    """
    variables = {id(x.handle): x for x in function.graph.variables}
    captured = [variables.get(id(x), x) for x in function.captured_inputs]
    for value in captured:
        if not isinstance(value, tf.Variable) and value.dtype == tf.resource:
            raise ValueError(
                "The TPU build lowers steps of tensors and variables only. "
                f"Received: a step that uses {value!r}."
            )
    given = function.graph.as_graph_def()
    functions = Functions([*given.library.function, function.function_def])
    arguments = function.inputs[: len(function.inputs) - len(captured)]
    inputs = [*arguments, *captured]
    new, written = functions.without_handles(
        function.function_def.signature.name,
        [
            x.dtype.as_datatype_enum if isinstance(x, tf.Variable) else None
            for x in inputs
        ],
    )
    functions.return_only(new, written)

    graph = tf.compat.v1.GraphDef(versions=given.versions)
    graph.library.function.extend(functions.all())
    call = type(graph.node.add())(name="step", op="PartitionedCall")
    del graph.node[:]
    for number, value in enumerate(inputs):
        node = graph.node.add(name=f"input_{number}", op="Placeholder")
        node.attr["dtype"].type = value.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(value.shape.as_proto())
        call.input.append(node.name)
    signature = new.signature
    call.attr["f"].func.name = signature.name
    call.attr["Tin"].list.type.extend(x.type for x in signature.input_arg)
    call.attr["Tout"].list.type.extend(x.type for x in signature.output_arg)
    graph.node.append(call)
    return graph, written
