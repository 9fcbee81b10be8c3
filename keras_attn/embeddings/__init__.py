"""Tokens and positions as vectors.

Their door is `keras_attn.layers`.
"""
