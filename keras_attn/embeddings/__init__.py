"""Tokens and positions as vectors."""
