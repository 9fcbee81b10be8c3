"""Layers that look: (query, value, key) to context."""
