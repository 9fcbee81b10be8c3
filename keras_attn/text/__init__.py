"""Strings to ids and back, in core TensorFlow ops."""
