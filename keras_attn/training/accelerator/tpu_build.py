"""Lower a graph with TensorFlow's TPU build; run as a script by its Python."""

import argparse
import json
import os
import pathlib

# libtpu waits for the metadata of a TPU host unless it is told.
WITHOUT_A_TPU = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
}


def function_of(graph):
    """What `functional_step` made, as a `tf.function` and its specs."""
    import tensorflow as tf

    *inputs, call = graph.node
    imported = tf.compat.v1.wrap_function(
        lambda: tf.graph_util.import_graph_def(graph, name=""), []
    )
    step = imported.prune(
        [f"{node.name}:0" for node in inputs],
        [f"step:{i}" for i in range(len(call.attr["Tout"].list.type))],
    )
    specs = [
        tf.TensorSpec(node.attr["shape"].shape, node.attr["dtype"].type)
        for node in inputs
    ]
    compiled = tf.function(
        lambda *tensors: step(*tensors), jit_compile=True, autograph=False
    )
    return compiled, specs


def main():
    """Lower the graph of one file, and write the answer to another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", type=pathlib.Path)
    parser.add_argument("answer", type=pathlib.Path)
    args = parser.parse_args()
    os.environ.update(WITHOUT_A_TPU)
    import tensorflow as tf

    graph = tf.compat.v1.GraphDef.FromString(args.graph.read_bytes())
    answer = {"build": f"tensorflow-tpu {tf.__version__}"}
    try:
        step, specs = function_of(graph)
        lower = step.experimental_get_compiler_ir(*specs)
        answer["module"] = lower(stage="stablehlo", platform_name="TPU")
    except (tf.errors.OpError, ValueError, TypeError) as error:
        answer["error"] = str(error)
    args.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
