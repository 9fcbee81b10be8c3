"""Attention, feed-forward, normalisation and residual as one layer.

Their door is `keras_attn.layers`.
"""
