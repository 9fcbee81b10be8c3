"""Count the ops of one decoding step: without XLA they are what it costs.

    python -m benchmarks.loop_ops
    python -m benchmarks.loop_ops --layers 4 --width 256 --heads 4

Prints how many ops the body of the loop in `generate` holds, besides
constants, in all and for each layer, and of which kinds. A layer's share is
the difference between a model with one layer more and one without it.
"""

import argparse
import collections

import tensorflow as tf

from keras_attn import decoding
from keras_attn import models

PROMPT, NEW = 32, 64
NO_END = -1
# Of a layer of a GPT with learned positions and layer normalisation.
TARGET = 70


def loop_ops(concrete_function) -> collections.Counter:
    """Count the ops in the largest loop body of a graph, by their kinds.

    Args:
        concrete_function: A `tf.ConcreteFunction` with a loop in it.

    Returns:
        A count for each op but constants.

    Raises:
        ValueError: If there is no loop.
    """
    graph = concrete_function.graph.as_graph_def()
    functions = {each.signature.name: each for each in graph.library.function}
    nodes = [*graph.node]
    for function in functions.values():
        nodes.extend(function.node_def)
    bodies = [
        collections.Counter(
            node.op
            for node in functions[loop.attr["body"].func.name].node_def
            if node.op != "Const"
        )
        for loop in nodes
        if loop.op in ("While", "StatelessWhile")
    ]
    if not bodies:
        raise ValueError(
            "The graph holds no loop whose steps could be counted. Received: "
            f"{concrete_function.name}. Trace a function that decodes."
        )
    return max(bodies, key=collections.Counter.total)


def gpt_ops(*, layers: int, width: int, heads: int, vocabulary: int, **search):
    """Count the ops of one step of a GPT that `generate` decodes with."""
    model = models.GPT(
        vocabulary,
        num_layers=layers,
        num_heads=heads,
        units=width,
        pad_id=None,
        dropout=0.0,
    )

    @tf.function(input_signature=[tf.TensorSpec([None, PROMPT], tf.int32)])
    def decode(tokens):
        return decoding.generate(
            model, tokens, max_length=NEW, end_id=NO_END, **search
        )

    return loop_ops(decode.get_concrete_function())


def main():
    """Print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=1000)
    args = vars(parser.parse_args())
    ops = gpt_ops(**args)
    layer = gpt_ops(**{**args, "layers": args["layers"] + 1})
    layer.subtract(ops)
    print(f"{ops.total()} ops in the loop, {layer.total()} for each layer")
    print(f"(target: {TARGET} for each layer)")
    for kind, count in ops.most_common():
        print(f"{count:5d} {layer[kind]:5d}  {kind}")


if __name__ == "__main__":
    main()
