"""Bytes of image files to pixels, in core TensorFlow ops."""
