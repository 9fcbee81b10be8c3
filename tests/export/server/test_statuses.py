import grpc
import pytest
import tensorflow as tf

from keras_attn.export.loader.c_session import SessionError
from keras_attn.export.server.statuses import http_code
from keras_attn.export.server.statuses import status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SessionError(9, "no table"), (9, "no table")),
        (tf.errors.NotFoundError(None, None, "no model"), (5, "no model")),
        (ValueError("no name"), (3, "no name")),
        (MemoryError("1 PB"), (8, "Out of memory. 1 PB")),
        (KeyError("a"), (13, "KeyError: 'a'")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_a_code_and_a_message(error, status):
    assert status_of(error) == status


def test_tensorflow_and_grpc_agree_on_the_codes():
    assert {code.value[0] for code in grpc.StatusCode} == set(range(17))
    for code in grpc.StatusCode:
        assert getattr(tf.errors, code.name, code.value[0]) == code.value[0]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("OK", 200),
        ("CANCELLED", 499),
        ("UNKNOWN", 500),
        ("INVALID_ARGUMENT", 400),
        ("DEADLINE_EXCEEDED", 504),
        ("NOT_FOUND", 404),
        ("ALREADY_EXISTS", 409),
        ("PERMISSION_DENIED", 403),
        ("RESOURCE_EXHAUSTED", 429),
        ("FAILED_PRECONDITION", 400),
        ("ABORTED", 409),
        ("OUT_OF_RANGE", 400),
        ("UNIMPLEMENTED", 501),
        ("INTERNAL", 500),
        ("UNAVAILABLE", 503),
        ("DATA_LOSS", 500),
        ("UNAUTHENTICATED", 401),
    ],
)
def test_http_says_what_tf_serving_says(code, status):
    assert http_code(getattr(tf.errors, code)) == status
