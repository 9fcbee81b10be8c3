"""Answers that are parts of a text."""
