import base64
import http.client
import json
import threading
from concurrent import futures

import pytest

from keras_attn.export.server.rest_service import respond
from keras_attn.export.server.rest_service import rest_server
from keras_attn.export.server.served_models import ServedModel
from tests.export import echo

MODEL = "/v1/models/echo"
PREDICT = f"{MODEL}:predict"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = echo.save(tmp_path_factory.mktemp("echo"))
    served = ServedModel(folder, "echo", poll_seconds=3600.0)
    yield served
    served.close()


@pytest.fixture(scope="module")
def port(model):
    with (
        futures.ThreadPoolExecutor(2) as pool,
        rest_server(model, pool, "127.0.0.1", 0) as port,
    ):
        yield port


def ask(model, path, body=None, method=None):
    """As over HTTP, without the way there and back."""
    method = method or ("GET" if body is None else "POST")
    if not isinstance(body, bytes):
        body = b"" if body is None else json.dumps(body).encode()
    status, answer = respond(model, method, path, body)
    return status, json.loads(answer)


def test_rows_are_answered_with_rows(port):
    status, answer = echo.http(port, PREDICT, {"instances": ["a", "é"]})
    assert status == 200
    assert answer == {
        "predictions": [
            {"text": "a", "length": 1, "copy_bytes": {"b64": "YQ=="}},
            {"text": "é", "length": 2, "copy_bytes": {"b64": "w6k="}},
        ]
    }


def test_columns_are_answered_with_columns(port):
    body = {
        "signature_name": "multiply",
        "inputs": {"numbers": [[1, 2.5, 3]], "times": [2]},
    }
    assert echo.http(port, PREDICT, body) == (
        200,
        {"outputs": [[4.0, 10.0, 12.0]]},
    )


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe\x00", b"\xff\xd8\xff\xe0\x00\x10JFIF", b"x" * 2**20],
    ids=["empty", "no UTF-8", "a JPEG that ends early", "a megabyte"],
)
def test_any_bytes_come_back(port, data):
    value = {"b64": base64.b64encode(data).decode()}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", PREDICT, json.dumps({"inputs": [value]}))
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 200
    assert response.headers["Content-Type"].startswith("application/json")
    answer = json.loads(body.decode("utf-8", "surrogateescape"))["outputs"]
    assert answer["length"] == [len(data)]
    assert answer["copy_bytes"] == [value]
    assert answer["text"][0].encode("utf-8", "surrogateescape") == data


def test_a_batch_without_rows_comes_as_columns(model):
    empty = {"text": [], "length": [], "copy_bytes": []}
    assert ask(model, PREDICT, {"inputs": {"text": []}}) == (
        200,
        {"outputs": empty},
    )


def test_a_version_can_be_asked(model):
    versioned = f"{MODEL}/versions/1:predict"
    assert ask(model, versioned, {"inputs": ["a"]})[0] == 200


def test_the_status_names_each_version(port):
    available = {
        "version": "1",
        "state": "AVAILABLE",
        "status": {"error_code": "OK", "error_message": ""},
    }
    wanted = (200, {"model_version_status": [available]})
    assert echo.http(port, MODEL) == wanted
    assert echo.http(port, f"{MODEL}/versions/1") == wanted
    assert echo.http(port, f"{MODEL}?now") == wanted


def test_metadata_are_the_signatures(port):
    status, answer = echo.http(port, f"{MODEL}/metadata")
    assert status == 200
    assert answer["model_spec"] == {
        "name": "echo",
        "signature_name": "",
        "version": "1",
    }
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert set(signatures) == {"serving_default", "multiply", "short"}
    times = signatures["multiply"]["inputs"]["times"]
    assert times["dtype"] == "DT_INT32"
    assert times["tensor_shape"]["dim"] == [{"size": "-1", "name": ""}]
    method = signatures["multiply"]["method_name"]
    assert method == "tensorflow/serving/predict"


MULTIPLY = {"signature_name": "multiply"}


@pytest.mark.parametrize(
    ("path", "body", "status", "complaint"),
    [
        (PREDICT, b"", 400, "JSON Parse error"),
        (PREDICT, b"{", 400, "JSON Parse error"),
        (PREDICT, {"inputs": [1]}, 400, "Input 'text'"),
        (PREDICT, {"inputs": "a"}, 400, "has the shape (None,)"),
        (PREDICT, {"inputs": {"test": ["a"]}}, 400, "Missing named input"),
        (PREDICT, {"instances": [{"test": "a"}]}, 400, "equal to: text"),
        (PREDICT, {"instances": []}, 400, "at least one row"),
        (PREDICT, {"signature_name": "x", "inputs": []}, 400, '"x" not found'),
        (
            PREDICT,
            {**MULTIPLY, "inputs": {"numbers": [[1] * 3] * 3, "times": [1, 2]}},
            400,
            "Incompatible shapes",
        ),
        (
            PREDICT,
            {**MULTIPLY, "inputs": {"numbers": [[1, 2, 3]], "times": [1.0]}},
            400,
            "Input 'times'",
        ),
        (
            PREDICT,
            {"signature_name": "short", "inputs": ["fives"]},
            400,
            "4 bytes at most",
        ),
        ("/v1/models/x:predict", {"inputs": ["a"]}, 404, "Latest(x)"),
        ("/v1/models/x%20y:predict", {"inputs": ["a"]}, 404, "Latest(x y)"),
        (f"{MODEL}/versions/7:predict", {}, 404, "Specific(echo, 7)"),
        (f"{MODEL}/labels/new:predict", {}, 400, "label: new"),
        (f"{MODEL}/versions/{2**64}:predict", {}, 400, "to numeric"),
        (f"{MODEL}/versions/one:predict", {}, 400, "Malformed request: POST"),
        (f"{MODEL}:classify", {}, 501, ":predict alone"),
        (f"{MODEL}:guess", {}, 400, "Malformed request: POST"),
        (f"{MODEL}/metadata", {}, 400, "Malformed request: POST"),
        (PREDICT, None, 400, "Malformed request: GET"),
        (f"{MODEL}/versions/7", None, 404, "version 7 of model echo"),
        ("/v1/models/x", None, 404, "any versions of model x"),
        ("/v1/models/x/metadata", None, 404, "Latest(x)"),
        ("/v1/models", None, 400, "Missing model name"),
        ("/v2/models/echo", None, 404, "/v2/models/echo"),
        ("/", None, 404, "There is no /"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_request_gets_its_status_and_a_sentence(
    model, path, body, status, complaint
):
    found, answer = ask(model, path, body)
    assert found == status
    assert complaint in answer["error"]


def test_other_methods_are_malformed_requests(port):
    status, answer = echo.http(port, PREDICT, b"{}", method="PUT")
    assert status == 400
    assert answer == {"error": f"Malformed request: PUT {PREDICT}"}


def test_a_mistake_of_ours_is_internal_and_logged(model, caplog, monkeypatch):
    monkeypatch.setattr(model, "states", lambda: 1 / 0)
    status, answer = ask(model, MODEL)
    assert status == 500
    assert "ZeroDivisionError" in answer["error"]
    assert "Traceback" in caplog.text


def test_a_client_that_leaves_in_between_does_no_harm(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("POST", PREDICT)
    connection.putheader("Content-Length", "1000")
    connection.endheaders(b'{"inputs"')
    connection.close()
    assert echo.http(port, PREDICT, {"inputs": ["a"]})[0] == 200


def test_the_port_must_be_free_and_is_free_afterwards(model):
    with futures.ThreadPoolExecutor(1) as pool:
        with rest_server(model, pool, "127.0.0.1", 0) as port:
            with pytest.raises(OSError, match=str(port)):
                with rest_server(model, pool, "127.0.0.1", port):
                    raise AssertionError("the port was taken")
        before = threading.active_count()
        with rest_server(model, pool, "127.0.0.1", port) as again:
            assert again == port
        assert threading.active_count() <= before
