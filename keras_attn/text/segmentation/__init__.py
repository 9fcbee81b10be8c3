"""Text to words and pieces of words, in core TensorFlow ops."""
