"""Attention tile by tile, in linear memory."""
