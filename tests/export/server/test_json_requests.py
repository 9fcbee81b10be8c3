import json

import numpy as np
import pytest

from keras_attn.export.loader.loaded_model import TensorInfo
from keras_attn.export.server.json_requests import read_request
from keras_attn.export.server.json_requests import write_answer

SIGNATURES = {
    "serving_default": {"inputs": {"text": TensorInfo("t:0", "string", None)}},
    "multiply": {
        "inputs": {
            "numbers": TensorInfo("n:0", "float32", None),
            "times": TensorInfo("k:0", "int32", None),
        }
    },
}


def read(request):
    if not isinstance(request, bytes):
        request = json.dumps(request).encode()
    name, inputs, as_rows = read_request(request, SIGNATURES)
    return name, {k: v.tolist() for k, v in inputs.items()}, as_rows


def multiply(**keys):
    return {"signature_name": "multiply", **keys}


@pytest.mark.parametrize(
    "request_",
    [
        {"instances": ["a", "é"]},
        {"instances": [{"text": "a"}, {"text": "é"}]},
        {"instances": [{"text": "a"}, {"text": {"b64": "w6k="}}]},
        {"instances": [{"b64": "YQ=="}, {"b64": "w6k="}]},
        {"inputs": ["a", "é"]},
        {"inputs": {"text": ["a", {"b64": "w6k="}]}},
        {"signature_name": "serving_default", "inputs": ["a", "é"]},
    ],
    ids=json.dumps,
)
def test_strings_come_as_rows_or_columns_named_or_bare(request_):
    name, inputs, as_rows = read(request_)
    assert name == "serving_default"
    assert inputs == {"text": [b"a", "é".encode()]}
    assert as_rows == ("instances" in request_)


def test_rows_become_columns():
    rows = [{"numbers": [1, 2], "times": 3}, {"numbers": [4, 5], "times": 6}]
    columns = {"numbers": [[1.0, 2.0], [4.0, 5.0]], "times": [3, 6]}
    assert read(multiply(instances=rows)) == ("multiply", columns, True)
    assert read(multiply(inputs=columns)) == ("multiply", columns, False)


def test_further_columns_and_what_follows_the_object_are_not_looked_at():
    body = b' {"inputs": {"text": ["a"], "more": [1]}} and more'
    assert read(body) == ("serving_default", {"text": [b"a"]}, False)


def test_an_empty_column_is_a_batch_without_rows():
    assert read({"inputs": {"text": []}})[1] == {"text": []}


def test_bytes_that_are_no_utf8_reach_the_model_as_they_came():
    body = b'{"inputs": {"text": ["\xff\xfe", "\xc3\xa9", "a"]}}'
    assert read(body)[1] == {"text": [b"\xff\xfe", b"\xc3\xa9", b"a"]}


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (b"", "JSON Parse error"),
        (b"instances = [1]", "JSON Parse error"),
        (b'{"inputs": [' + b"1" * 5000 + b"]}", "JSON Parse error"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1]", "Is not object"),
        ({}, "either the key 'inputs' or the key 'instances'"),
        ({"inputs": ["a"], "instances": ["a"]}, "either the key"),
        ({"signature_name": 7, "inputs": ["a"]}, "must be a string"),
        ({"signature_name": "x", "inputs": ["a"]}, '"x" not found'),
        ({"instances": []}, "at least one row"),
        ({"instances": "a"}, "must be a list"),
        ({"instances": [{"text": "a"}, "b"]}, "element: 1"),
        ({"instances": ["a", {"text": "b"}]}, "got object at item 1"),
        ({"instances": [{"test": "a"}]}, "keys must be equal to: text"),
        ({"instances": [{"text": "a", "b": 1}]}, "keys must be equal"),
        (multiply(instances=[{"times": 1}]), "equal to: numbers,times"),
        (multiply(instances=[1]), "needs an object with the inputs numbers"),
        (multiply(inputs=[1]), "needs an object with the inputs numbers"),
        ({"inputs": {"test": ["a"]}}, "Missing named input: text"),
        (multiply(inputs={"numbers": [[1.0]]}), "Missing named input: times"),
        ({"inputs": [1]}, "Input 'text': "),
        ({"inputs": [None]}, "Input 'text': "),
        ({"inputs": ["a", ["b"]]}, "Input 'text': "),
        ({"inputs": [{"b64": "!"}]}, "not base64"),
        (b'{"inputs": ["\\ud800"]}', "surrogate"),
        (multiply(inputs={"numbers": [[1]], "times": [1.0]}), "'times': "),
        (multiply(inputs={"numbers": [[1]], "times": [True]}), "'times': "),
        (multiply(inputs={"numbers": [[1]], "times": [2**31]}), "'times': "),
        (multiply(inputs={"numbers": [["1"]], "times": [1]}), "'numbers': "),
        (multiply(inputs={"numbers": [[1], [1, 2]], "times": [1, 1]}), "Rows"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_request_out_of_form_is_refused(request_, complaint):
    with pytest.raises(ValueError, match=complaint):
        read(request_)


def test_a_complaint_is_short_however_long_the_request():
    with pytest.raises(ValueError, match="keys must be equal") as caught:
        read({"instances": [{"test": "a" * 1_000_000}]})
    assert len(str(caught.value)) < 1000


OUTPUTS = {
    "text": np.array([b"a", "é".encode()], object),
    "score": np.array([0.1, np.inf], "float32"),
    "copy_bytes": np.array([b"\xff", b""], object),
}


def test_an_answer_in_rows_names_each_value():
    answer = json.loads(write_answer(OUTPUTS, as_rows=True))
    assert answer == {
        "predictions": [
            {"text": "a", "score": 0.1, "copy_bytes": {"b64": "/w=="}},
            {"text": "é", "score": np.inf, "copy_bytes": {"b64": ""}},
        ]
    }


def test_an_answer_in_columns_names_each_column():
    answer = json.loads(write_answer(OUTPUTS, as_rows=False))
    assert answer["outputs"]["score"] == [0.1, np.inf]
    assert answer["outputs"]["text"] == ["a", "é"]


def test_a_single_output_needs_no_name():
    single = {"product": np.array([[1.0, 2.0], [3.0, 4.0]])}
    values = [[1.0, 2.0], [3.0, 4.0]]
    assert json.loads(write_answer(single, as_rows=True)) == {
        "predictions": values
    }
    assert json.loads(write_answer(single, as_rows=False)) == {
        "outputs": values
    }


def test_strings_that_are_no_utf8_go_out_as_they_are():
    body = write_answer({"text": np.array([b"\xff"], object)}, as_rows=False)
    assert body == b'{"outputs": ["\xff"]}'


def test_numbers_keep_their_precision():
    numbers = np.random.default_rng(0).normal(size=20).astype("float32")
    back = json.loads(write_answer({"x": numbers}, as_rows=False))["outputs"]
    np.testing.assert_array_equal(np.array(back, "float32"), numbers)


def test_outputs_without_a_row_for_each_cannot_be_rows():
    unequal = {"a": np.zeros(2), "b": np.zeros(3)}
    for outputs in (unequal, {"a": np.array(1.0)}):
        with pytest.raises(ValueError, match="one item for each row"):
            write_answer(outputs, as_rows=True)
        assert write_answer(outputs, as_rows=False)
