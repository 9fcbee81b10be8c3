"""A servable with known answers, and requests to it."""

import json
import pathlib
import urllib.error
import urllib.request

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

TEXT = tf.TensorSpec([None], tf.string, "text")
NUMBERS = tf.TensorSpec([None, 3], tf.float32, "numbers")
TIMES = tf.TensorSpec([None], tf.int32, "times")


class Echo(tf.Module):
    """Says what it was told, multiplies, and refuses long texts."""

    def __init__(self, factor):
        super().__init__()
        self.factor = tf.Variable(factor)

    @tf.function(input_signature=[TEXT])
    def echo(self, text):
        length = tf.strings.length(text)
        return {"text": text, "length": length, "copy_bytes": text}

    @tf.function(input_signature=[NUMBERS, TIMES])
    def multiply(self, numbers, times):
        times = self.factor * tf.cast(times, tf.float32)
        return {"product": numbers * times[:, None]}

    @tf.function(input_signature=[NUMBERS, TIMES], jit_compile=True)
    def multiply_compiled(self, numbers, times):
        return self.multiply(numbers, times)

    @tf.function(input_signature=[TEXT])
    def short(self, text):
        good = tf.reduce_all(tf.strings.length(text) < 5)
        check = tf.debugging.Assert(good, ["`text` must have 4 bytes at most"])
        with tf.control_dependencies([check]):
            return {"text": tf.identity(text)}


def save(folder, version=1, factor=2.0, xla=False) -> pathlib.Path:
    """Write a version as an exporter does, and return the model's folder."""
    echo = Echo(factor)
    partial = pathlib.Path(folder) / f"{version}.partial"
    signatures = {
        "serving_default": echo.echo,
        "multiply": echo.multiply,
        "short": echo.short,
    }
    if xla:
        signatures["multiply_xla"] = echo.multiply_compiled
    tf.saved_model.save(echo, str(partial), signatures)
    partial.rename(pathlib.Path(folder) / str(version))
    return pathlib.Path(folder)


def predict_request(signature="", *, model="echo", version=None, **inputs):
    """A `PredictRequest` for arrays by the names of the inputs."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request


def rpc(port, signature="", **request):
    """Send one request over gRPC; return the arrays of the answer."""
    request = predict_request(signature, **request)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        outputs = stub.Predict(request, timeout=60).outputs
    return {name: tf.make_ndarray(proto) for name, proto in outputs.items()}


def http(port, path, body=None, method=None):
    """Send one request; return the status and the JSON of the answer."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data=body, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())
