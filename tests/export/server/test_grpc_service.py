import collections
import threading
import time
from concurrent import futures

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2
from tensorflow_serving.apis import get_model_metadata_pb2
from tensorflow_serving.apis import get_model_status_pb2
from tensorflow_serving.apis import inference_pb2
from tensorflow_serving.apis import model_management_pb2
from tensorflow_serving.apis import model_service_pb2_grpc
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc
from tensorflow_serving.apis import regression_pb2

from keras_attn.export.loader.loaded_model import LoadedModel
from keras_attn.export.server.grpc_service import grpc_server
from keras_attn.export.server.served_models import ServedModel
from tests.export import echo

Stubs = collections.namedtuple("Stubs", ["predictions", "models"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = echo.save(tmp_path_factory.mktemp("echo"))
    served = ServedModel(folder, "echo", poll_seconds=3600.0)
    yield served
    served.close()


@pytest.fixture(scope="module")
def stubs(model):
    with (
        futures.ThreadPoolExecutor(2) as pool,
        grpc_server(model, pool, "127.0.0.1", 0) as port,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield Stubs(
            prediction_service_pb2_grpc.PredictionServiceStub(channel),
            model_service_pb2_grpc.ModelServiceStub(channel),
        )


def refusal(call, request):
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=60)
    return caught.value.code(), caught.value.details()


def predict(stubs, *args, **kwargs):
    request = echo.predict_request(*args, **kwargs)
    response = stubs.predictions.Predict(request, timeout=60)
    return {
        name: tf.make_ndarray(proto).tolist()
        for name, proto in response.outputs.items()
    }


TEXTS = {
    "empty": [b""],
    "no rows": np.array([], object),
    "a megabyte": [b"x" * 2**20],
    "no UTF-8": [b"\xff\xfe\x00"],
    "a JPEG that ends early": [b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01"],
    "two rows": [b"a", "é".encode()],
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_any_bytes_come_back(stubs, text):
    text = np.array(text, object)
    answer = predict(stubs, text=text)
    assert answer == {
        "text": text.tolist(),
        "length": [len(row) for row in text],
        "copy_bytes": text.tolist(),
    }


def test_a_signature_with_numbers_is_asked_by_name(stubs):
    numbers = np.array([[1.0, 2.0, 3.0]], "float32")
    times = np.array([4], "int32")
    answer = predict(stubs, "multiply", numbers=numbers, times=times)
    assert answer == {"product": [[8.0, 16.0, 24.0]]}


def test_the_answer_says_who_answered(stubs):
    request = echo.predict_request(text=[b"a"], version=1)
    spec = stubs.predictions.Predict(request, timeout=60).model_spec
    assert (spec.name, spec.version.value) == ("echo", 1)
    assert spec.signature_name == "serving_default"


def test_outputs_can_be_chosen(stubs):
    request = echo.predict_request(text=[b"a"])
    request.output_filter.append("length")
    response = stubs.predictions.Predict(request, timeout=60)
    assert set(response.outputs) == {"length"}
    for wrong in (["width"], ["length", "length"]):
        request.output_filter[:] = wrong
        code, message = refusal(stubs.predictions.Predict, request)
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert "'copy_bytes', 'length', 'text'" in message


ONES = {"numbers": np.ones([2, 3], "float32"), "times": np.ones([2], "int32")}


@pytest.mark.parametrize(
    ("request_", "code", "complaint"),
    [
        (echo.predict_request(text=[1.0]), 3, "takes string"),
        (echo.predict_request(text=[[b"a"]]), 3, "has the shape (None,)"),
        (echo.predict_request(test=[b"a"]), 3, "['test']"),
        (echo.predict_request(), 3, "['text']. Received: []"),
        (
            echo.predict_request("multiply", numbers=ONES["numbers"]),
            3,
            "['numbers', 'times']. Received: ['numbers']",
        ),
        (
            echo.predict_request("multiply", **ONES | {"times": [1.0, 1.0]}),
            3,
            "takes int32. Received: float32",
        ),
        (
            echo.predict_request("multiply", **ONES | {"times": [1, 1, 1]}),
            3,
            "Incompatible shapes",
        ),
        (echo.predict_request("short", text=["fives"]), 3, "4 bytes at most"),
        (echo.predict_request("long", text=[b"a"]), 9, '"long" not found'),
        (echo.predict_request(model="", text=[b"a"]), 3, "no name specified"),
        (echo.predict_request(model="x", text=[b"a"]), 5, "Latest(x)"),
        (echo.predict_request(version=7, text=[b"a"]), 5, "Specific(echo, 7)"),
        (predict_pb2.PredictRequest(), 3, "Missing ModelSpec"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_request_gets_its_code_and_a_sentence(
    stubs, request_, code, complaint
):
    found, message = refusal(stubs.predictions.Predict, request_)
    assert found.value[0] == code
    assert complaint in message
    assert predict(stubs, text=[b"a"])["length"] == [1], "it stays up"


def test_versions_have_no_labels(stubs):
    request = echo.predict_request(text=[b"a"])
    request.model_spec.version_label = "stable"
    code, message = refusal(stubs.predictions.Predict, request)
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "label: stable" in message


def test_a_long_message_is_cut_so_that_it_arrives(stubs):
    request = echo.predict_request("x" * 100_000, text=[b"a"])
    code, message = refusal(stubs.predictions.Predict, request)
    assert code == grpc.StatusCode.FAILED_PRECONDITION
    assert len(message) < 2000


def test_who_has_gone_is_not_answered(model, monkeypatch):
    asked, go_on = [], threading.Event()

    def run(loaded, signature, inputs):
        asked.append(signature)
        go_on.wait(60)
        return {name: inputs["text"] for name in ("text", "copy_bytes")}

    monkeypatch.setattr(LoadedModel, "run", run)
    with (
        futures.ThreadPoolExecutor(1) as pool,
        grpc_server(model, pool, "127.0.0.1", 0) as port,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = echo.predict_request(text=[b"a"])
        request.output_filter.append("text")
        waiting = [stub.Predict.future(request) for _ in range(5)]
        first, *others = waiting
        for _ in range(6000):
            if pool._work_queue.qsize() == len(others):
                break
            time.sleep(0.01)
        for each in others:
            each.cancel()
        time.sleep(0.3)  # the server must hear of it
        go_on.set()
        assert first.result(60).outputs["text"].string_val == [b"a"]
    assert len(asked) < 5


def test_metadata_are_the_signatures(stubs, model):
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = "echo"
    code, message = refusal(stubs.predictions.GetModelMetadata, request)
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "signature_def" in message
    request.metadata_field.append("signature_def")
    response = stubs.predictions.GetModelMetadata(request, timeout=60)
    assert response.model_spec.version.value == 1
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    found = signatures.signature_def
    assert set(found) == {"serving_default", "multiply", "short"}
    numbers = found["multiply"].inputs["numbers"]
    assert tf.as_dtype(numbers.dtype) == tf.float32
    assert tf.TensorShape(numbers.tensor_shape).as_list() == [None, 3]
    assert set(found["multiply"].outputs) == {"product"}


def test_status_tells_of_each_version(stubs):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "echo"
    (status,) = stubs.models.GetModelStatus(
        request, timeout=60
    ).model_version_status
    assert status.version == 1
    assert status.state == get_model_status_pb2.ModelVersionStatus.AVAILABLE
    assert status.status.error_code == 0
    request.model_spec.version.value = 1
    assert stubs.models.GetModelStatus(request, timeout=60)
    request.model_spec.version.value = 7
    assert refusal(stubs.models.GetModelStatus, request) == (
        grpc.StatusCode.NOT_FOUND,
        "Could not find version 7 of model echo",
    )
    request.model_spec.name = "other"
    request.model_spec.ClearField("version")
    code, _ = refusal(stubs.models.GetModelStatus, request)
    assert code == grpc.StatusCode.NOT_FOUND


def test_what_it_has_not_is_unimplemented(stubs):
    for call, request in [
        ("Classify", classification_pb2.ClassificationRequest()),
        ("Regress", regression_pb2.RegressionRequest()),
        ("MultiInference", inference_pb2.MultiInferenceRequest()),
    ]:
        code, _ = refusal(getattr(stubs.predictions, call), request)
        assert code == grpc.StatusCode.UNIMPLEMENTED
    code, _ = refusal(
        stubs.models.HandleReloadConfigRequest,
        model_management_pb2.ReloadConfigRequest(),
    )
    assert code == grpc.StatusCode.UNIMPLEMENTED


def test_a_mistake_of_ours_is_internal_and_logged(
    stubs, model, caplog, monkeypatch
):
    monkeypatch.setattr(model, "states", lambda: 1 / 0)
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "echo"
    code, message = refusal(stubs.models.GetModelStatus, request)
    assert code == grpc.StatusCode.INTERNAL
    assert "ZeroDivisionError" in message
    assert "Traceback" in caplog.text


def test_two_servers_do_not_share_a_port(model):
    with (
        futures.ThreadPoolExecutor(1) as pool,
        grpc_server(model, pool, "127.0.0.1", 0) as port,
    ):
        with pytest.raises(OSError, match=f"127.0.0.1:{port}"):
            with grpc_server(model, pool, "127.0.0.1", port):
                raise AssertionError("the port was taken")
