"""What stands in the loops of a graph."""


def products_in_loops(function, *specs) -> list[list[str]]:
    """Trace a `tf.function`; the names of the products in each loop's body."""
    graph = function.get_concrete_function(*specs).graph.as_graph_def()
    bodies = [
        node.attr["body"].func.name
        for node in graph.node
        if node.op in ("While", "StatelessWhile")
    ]
    functions = {each.signature.name: each for each in graph.library.function}
    return [
        [
            node.name
            for node in functions[name].node_def
            if "MatMul" in node.op or node.op == "Einsum"
        ]
        for name in bodies
    ]
