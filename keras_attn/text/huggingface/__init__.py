"""Reads what Hugging Face's libraries wrote."""

from keras_attn.text.huggingface.folder import read

__all__ = ["read"]
