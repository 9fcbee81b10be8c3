"""What went wrong, in the codes of TensorFlow, gRPC and HTTP."""

import http

import tensorflow as tf

from keras_attn.export.loader.c_session import SessionError

# As TF Serving translates them; 499 is "client closed request".
HTTP_CODES = {
    tf.errors.OK: http.HTTPStatus.OK,
    tf.errors.CANCELLED: 499,
    tf.errors.INVALID_ARGUMENT: http.HTTPStatus.BAD_REQUEST,
    tf.errors.DEADLINE_EXCEEDED: http.HTTPStatus.GATEWAY_TIMEOUT,
    tf.errors.NOT_FOUND: http.HTTPStatus.NOT_FOUND,
    tf.errors.ALREADY_EXISTS: http.HTTPStatus.CONFLICT,
    tf.errors.PERMISSION_DENIED: http.HTTPStatus.FORBIDDEN,
    tf.errors.RESOURCE_EXHAUSTED: http.HTTPStatus.TOO_MANY_REQUESTS,
    tf.errors.FAILED_PRECONDITION: http.HTTPStatus.BAD_REQUEST,
    tf.errors.ABORTED: http.HTTPStatus.CONFLICT,
    tf.errors.OUT_OF_RANGE: http.HTTPStatus.BAD_REQUEST,
    tf.errors.UNIMPLEMENTED: http.HTTPStatus.NOT_IMPLEMENTED,
    tf.errors.UNAVAILABLE: http.HTTPStatus.SERVICE_UNAVAILABLE,
    tf.errors.UNAUTHENTICATED: http.HTTPStatus.UNAUTHORIZED,
}


def status_of(error: Exception) -> tuple[int, str]:
    """Say of an error what TF Serving would say.

    Args:
        error: Raised by a session, by a check of a request, or by mistake.

    Returns:
        TensorFlow's error code, which is gRPC's too, and the message.
    """
    if isinstance(error, SessionError):
        return error.code, error.message
    if isinstance(error, tf.errors.OpError):
        return error.error_code, error.message
    if isinstance(error, ValueError | TypeError):
        return tf.errors.INVALID_ARGUMENT, str(error)
    if isinstance(error, MemoryError):
        return tf.errors.RESOURCE_EXHAUSTED, f"Out of memory. {error}"
    return tf.errors.INTERNAL, f"{type(error).__name__}: {error}"


def http_code(code: int) -> int:
    """Translate TensorFlow's error code for HTTP; 500 if it is no other."""
    return int(HTTP_CODES.get(code, http.HTTPStatus.INTERNAL_SERVER_ERROR))
