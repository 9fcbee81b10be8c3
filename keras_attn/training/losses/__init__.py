"""Losses that leave padding out."""
