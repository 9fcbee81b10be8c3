"""Captioners without recurrence."""
