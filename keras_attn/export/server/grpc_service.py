"""TF Serving's gRPC interface: predict, metadata and status of a model."""

import contextlib
import logging
import types
from collections.abc import Callable
from collections.abc import Iterator
from concurrent import futures

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from keras_attn.export.bundle.tensor_protos import to_array
from keras_attn.export.bundle.tensor_protos import to_proto
from keras_attn.export.server.served_models import ServedModel
from keras_attn.export.server.statuses import status_of
from keras_attn.extras import require

# Longer messages would not fit the trailer that carries them.
MESSAGE_LIMIT = 1024
MAX_PENDING = 100_000
GRACE_SECONDS = 5.0

log = logging.getLogger(__name__)


@contextlib.contextmanager
def grpc_server(
    model: ServedModel,
    pool: futures.ThreadPoolExecutor,
    host: str,
    port: int,
) -> Iterator[int]:
    """Answer over gRPC while the context lasts.

    Args:
        model: What answers.
        pool: The threads that answers are made in.
        host: Address to listen at.
        port: Port to listen at; 0 for a free one.

    Returns:
        The port.

    Raises:
        OSError: If the port is taken.
    """
    grpc = require("grpc", extra="serving")
    predictions = api("prediction_service_pb2_grpc")
    statuses = api("model_service_pb2_grpc")
    server = grpc.server(
        pool,
        options=[
            # As TF Serving, which takes messages of any length.
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
            # A burst waits for its turn; gRPC would cancel from 1000 on.
            ("grpc.server.max_pending_requests", MAX_PENDING),
            ("grpc.server.max_pending_requests_hard_limit", MAX_PENDING),
            # Else two servers could share a port, and the requests.
            ("grpc.so_reuseport", 0),
        ],
    )
    predictions.add_PredictionServiceServicer_to_server(
        types.SimpleNamespace(
            Predict=_handler(predict, model),
            GetModelMetadata=_handler(model_metadata, model),
            Classify=_handler(_refuse, model),
            Regress=_handler(_refuse, model),
            MultiInference=_handler(_refuse, model),
        ),
        server,
    )
    statuses.add_ModelServiceServicer_to_server(
        types.SimpleNamespace(
            GetModelStatus=_handler(model_status, model),
            HandleReloadConfigRequest=_handler(_refuse, model),
        ),
        server,
    )
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise OSError(
            f"gRPC cannot listen at {host}:{port}. Give another port, or 0 "
            f"for a free one. {error}"
        ) from error
    server.start()
    try:
        yield bound
    finally:
        server.stop(GRACE_SECONDS).wait()


def predict(model: ServedModel, request):
    """Answer a `PredictRequest` with a `PredictResponse`."""
    spec = _spec(request)
    signature = spec.signature_name or "serving_default"
    with model.use(**choice(spec)) as (version, loaded):
        if signature not in loaded.signatures:
            raise tf.errors.FailedPreconditionError(
                None, None, f'Serving signature key "{signature}" not found.'
            )
        names = loaded.signatures[signature]["outputs"]
        wanted = list(request.output_filter) or list(names)
        if not set(wanted) <= set(names) or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"Signature {signature!r} has the outputs {sorted(names)}. "
                f"`output_filter` has: {wanted}"
            )
        inputs = {key: to_array(value) for key, value in request.inputs.items()}
        outputs = loaded.run(signature, inputs)
    response = api("predict_pb2").PredictResponse()
    response.model_spec.name = spec.name
    response.model_spec.signature_name = signature
    response.model_spec.version.value = version
    for name in wanted:
        response.outputs[name].CopyFrom(to_proto(outputs[name]))
    return response


def model_metadata(model: ServedModel, request):
    """Answer a `GetModelMetadataRequest`: what can be asked."""
    metadata = api("get_model_metadata_pb2")
    spec = _spec(request)
    if set(request.metadata_field) != {"signature_def"}:
        raise ValueError(
            "`metadata_field` must be signature_def. Received: "
            f"{list(request.metadata_field)}"
        )
    definitions = metadata.SignatureDefMap()
    with model.use(**choice(spec)) as (version, loaded):
        for name, signature in loaded.signatures.items():
            definition = definitions.signature_def[name]
            definition.method_name = "tensorflow/serving/predict"
            for part in ("inputs", "outputs"):
                for key, info in signature[part].items():
                    getattr(definition, part)[key].CopyFrom(_tensor_info(info))
    response = metadata.GetModelMetadataResponse()
    response.model_spec.name = model.name
    response.model_spec.version.value = version
    response.metadata["signature_def"].Pack(definitions)
    return response


def model_status(model: ServedModel, request):
    """Answer a `GetModelStatusRequest`: how each version is."""
    status = api("get_model_status_pb2")
    name, version = choice(_spec(request)).values()
    states = model.states() if name == model.name else {}
    if version is not None:
        states = {version: states[version]} if version in states else {}
    if not states:
        which = "any versions" if version is None else f"version {version}"
        raise tf.errors.NotFoundError(
            None, None, f"Could not find {which} of model {name}"
        )
    response = status.GetModelStatusResponse()
    for number, (state, code, message) in sorted(states.items(), reverse=True):
        response.model_version_status.add(
            version=number,
            state=status.ModelVersionStatus.State.Value(state),
            status={"error_code": code, "error_message": message},
        )
    return response


def choice(spec) -> dict:
    """Read from a `ModelSpec` which model and version is wanted.

    Returns:
        The arguments of `ServedModel.use`.

    Raises:
        ValueError: If there is no name, or a label, which no version has.
    """
    if not spec.name:
        raise ValueError("ModelSpec has no name specified.")
    if spec.version_label:
        raise ValueError(
            f"Unrecognized servable version label: {spec.version_label}"
        )
    has_version = spec.HasField("version")
    return {
        "name": spec.name,
        "version": spec.version.value if has_version else None,
    }


def _refuse(model, request):
    raise tf.errors.UnimplementedError(
        None, None, "This server for trying things out has Predict alone."
    )


def _handler(answer: Callable, model: ServedModel) -> Callable:
    grpc = require("grpc", extra="serving")
    codes = {code.value[0]: code for code in grpc.StatusCode}

    def handle(request, context):
        if not context.is_active():
            context.abort(grpc.StatusCode.CANCELLED, "The client has gone.")
        try:
            return answer(model, request)
        except Exception as error:
            code, message = status_of(error)
            if code == tf.errors.INTERNAL:
                log.exception("A request failed.")
        context.abort(codes[code], message[:MESSAGE_LIMIT])

    return handle


def _spec(request):
    if not request.HasField("model_spec"):
        raise ValueError("Missing ModelSpec")
    return request.model_spec


def _tensor_info(info):
    return meta_graph_pb2.TensorInfo(
        name=info.tensor,
        dtype=tf.as_dtype(info.dtype).as_datatype_enum,
        tensor_shape=tf.TensorShape(info.shape).as_proto(),
    )


def api(name: str):
    """A module of TF Serving's messages and services."""
    return require(f"tensorflow_serving.apis.{name}", extra="serving")
