"""Attention, feed-forward, normalisation and residual as one layer."""
