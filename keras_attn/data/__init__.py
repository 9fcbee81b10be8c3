"""Files, TFDS or built-in data in, fixed-shape batches out."""
