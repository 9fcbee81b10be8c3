"""Attention layers: (query, value, key) to context.

Their door is `keras_attn.layers`.
"""
