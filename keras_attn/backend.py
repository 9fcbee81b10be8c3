"""Refuses every backend but TensorFlow, before anything is built on it."""

import os


def _refuse_all_but_tensorflow(backend: str) -> None:
    if backend != "tensorflow":
        raise ImportError(
            "keras_attn runs on TensorFlow. Received: Keras' backend is "
            f"{backend!r}. Set the environment variable "
            "KERAS_BACKEND=tensorflow before Keras is imported."
        )


# Before Keras: another backend's packages may be missing, and then Keras
# itself would stop with a sentence about them.
_refuse_all_but_tensorflow(os.environ.get("KERAS_BACKEND") or "tensorflow")

import keras  # noqa: E402

_refuse_all_but_tensorflow(keras.backend.backend())
