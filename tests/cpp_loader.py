"""Run a SavedModel as TF Serving does: C++ loader, XLA off, no Python TF.

    from tests import cpp_loader

    outputs = cpp_loader.run(folder, "serving_default", {"tokens": tokens})

A SavedModel that reloads in Python may still fail in the server. `run` finds
the tensors of the signature, then starts a process that refuses to import
TensorFlow and Keras, and calls the C interface of the very library that the
server is built from.
"""

from keras_attn.export.loader import loaded_model
from keras_attn.export.loader import worker


def run(folder, signature: str, inputs: dict, *, timeout: float = 120) -> dict:
    """Answer one request: `run_each` for a single one."""
    return run_each(folder, signature, [inputs], timeout=timeout)[0]


def run_each(
    folder, signature: str, requests: list[dict], *, timeout: float = 120
) -> list[dict]:
    """Load once and answer requests in turn, in a process of its own.

    Args:
        folder: The SavedModel, with `saved_model.pb` in it.
        signature: Name of a signature.
        requests: Arrays by the signature's names, in its dtypes; strings are
            arrays of `bytes` with dtype object.
        timeout: Seconds after which the process is stopped.

    Returns:
        For each request, arrays by the signature's names.

    Raises:
        ValueError: If a request is not of the signature's form.
        RuntimeError: With TensorFlow's own message, if it refuses.
    """
    return run_requests(
        folder, [(signature, inputs) for inputs in requests], timeout=timeout
    )


def run_requests(
    folder,
    requests: list[tuple[str, dict]],
    *,
    timeout: float = 120,
    disable_xla: bool = True,
) -> list[dict]:
    """Like `run_each`, for requests that are (signature, inputs)."""
    signatures = loaded_model.read_signatures(loaded_model.read_graph(folder))
    results = worker.run_each(
        folder,
        [loaded_model.request(signatures, *request) for request in requests],
        timeout=timeout,
        disable_xla=disable_xla,
    )
    for result in results:
        if "message" in result:
            raise RuntimeError(result["message"])
    return [
        dict(zip(signatures[name]["outputs"], result["arrays"], strict=True))
        for (name, _), result in zip(requests, results, strict=True)
    ]


def op_names(folder) -> set[str]:
    """Every kind of op in the graph and in the functions it may call."""
    graph = loaded_model.read_graph(folder).graph_def
    nodes = list(graph.node)
    for function in graph.library.function:
        nodes.extend(function.node_def)
    return {node.op for node in nodes}


def function_names(folder) -> set[str]:
    """Names of the functions that the graph may call like ops."""
    library = loaded_model.read_graph(folder).graph_def.library
    return {function.signature.name for function in library.function}
