"""Attention by the TPU's own kernel: jax's splash attention in a TF graph."""
