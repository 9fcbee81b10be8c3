"""Layers around any other layer.

Their door is `keras_attn.layers`.
"""
