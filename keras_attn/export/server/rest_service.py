"""TF Serving's REST interface: predict, metadata and status of a model."""

import asyncio
import contextlib
import inspect
import json
import logging
import re
import threading
import urllib.parse
from collections.abc import Iterator
from concurrent import futures

import tensorflow as tf

from keras_attn.export.server import grpc_service
from keras_attn.export.server.grpc_service import GRACE_SECONDS
from keras_attn.export.server.json_requests import read_request
from keras_attn.export.server.json_requests import write_answer
from keras_attn.export.server.served_models import ServedModel
from keras_attn.export.server.statuses import http_code
from keras_attn.export.server.statuses import status_of
from keras_attn.extras import require

MODEL = (
    "/v1/models(?:/(?P<name>[^/:]+))?"
    r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
)
PATHS = {
    "GET": re.compile(f"{MODEL}(?:/(?P<method>metadata))?", re.IGNORECASE),
    "POST": re.compile(
        f"{MODEL}:(?P<method>classify|regress|predict)", re.IGNORECASE
    ),
}

log = logging.getLogger(__name__)


@contextlib.contextmanager
def rest_server(
    model: ServedModel,
    pool: futures.ThreadPoolExecutor,
    host: str,
    port: int,
) -> Iterator[int]:
    """Answer over HTTP while the context lasts; as `grpc_server`."""
    web = require("aiohttp.web", extra="serving")

    async def handle(request):
        body = await request.read()
        status, answer = await loop.run_in_executor(
            pool, respond, model, request.method, request.raw_path, body
        )
        return web.Response(
            status=status, body=answer, content_type="application/json"
        )

    # As TF Serving, which takes bodies of any length.
    application = web.Application(client_max_size=0)
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=GRACE_SECONDS,
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    async def start():
        await runner.setup()
        await web.TCPSite(runner, host, port).start()

    try:
        run(start())
        yield runner.addresses[0][1]
    finally:
        run(runner.cleanup())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def respond(
    model: ServedModel, method: str, path: str, body: bytes
) -> tuple[int, bytes]:
    """Answer one HTTP request.

    Args:
        model: What answers.
        method: "GET", "POST" or another.
        path: As it was sent, with its escapes.
        body: What came with it.

    Returns:
        The HTTP status, and JSON; `{"error": ...}` if it is not 200.
    """
    path = path.partition("?")[0]
    try:
        return 200, _dispatch(model, method, path, body)
    except Exception as error:
        code, message = status_of(error)
        if code == tf.errors.INTERNAL:
            log.exception("A request failed.")
        return http_code(code), json.dumps({"error": message}).encode()


def _dispatch(model, method, path, body):
    if not path.lower().startswith("/v1/"):
        raise tf.errors.NotFoundError(None, None, f"There is no {path}")
    match = method in PATHS and PATHS[method].fullmatch(path)
    if not match:
        raise ValueError(f"Malformed request: {method} {path}")
    spec = _spec(match)
    wanted = (match["method"] or "status").lower()
    if wanted == "status":
        return _status(model, spec)
    if wanted == "metadata":
        return _metadata(model, spec)
    if wanted == "predict":
        with model.use(**grpc_service.choice(spec)) as (_, loaded):
            name, inputs, as_rows = read_request(body, loaded.signatures)
            outputs = loaded.run(name, inputs)
        return write_answer(outputs, as_rows=as_rows)
    raise tf.errors.UnimplementedError(
        None, None, "This server for trying things out has :predict alone."
    )


def _spec(match):
    if not match["name"]:
        raise ValueError("Missing model name in request.")
    spec = grpc_service.api("model_pb2").ModelSpec(
        name=urllib.parse.unquote(match["name"]),
        version_label=urllib.parse.unquote(match["label"] or ""),
    )
    if match["version"]:
        try:
            spec.version.value = int(match["version"])
        except ValueError as error:
            raise ValueError(
                f"Failed to convert version: {match['version']} to numeric."
            ) from error
    return spec


def _status(model, spec):
    request = grpc_service.api("get_model_status_pb2").GetModelStatusRequest(
        model_spec=spec
    )
    answer = grpc_service.model_status(model, request)
    return json.dumps(_to_dict(answer), indent=1).encode()


def _metadata(model, spec):
    metadata = grpc_service.api("get_model_metadata_pb2")
    answer = grpc_service.model_metadata(
        model,
        metadata.GetModelMetadataRequest(
            model_spec=spec, metadata_field=["signature_def"]
        ),
    )
    definitions = metadata.SignatureDefMap()
    answer.metadata["signature_def"].Unpack(definitions)
    parts = {
        "model_spec": _to_dict(answer.model_spec),
        "metadata": {"signature_def": _to_dict(definitions)},
    }
    return json.dumps(parts, indent=1).encode()


def _to_dict(message):
    json_format = require("google.protobuf.json_format", extra="serving")
    # Protobuf 5 gave the option another name.
    new, old = (
        "always_print_fields_with_no_presence",
        "including_default_value_fields",
    )
    options = inspect.signature(json_format.MessageToDict).parameters
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        **{new if new in options else old: True},
    )
