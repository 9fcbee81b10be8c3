"""Checks of what a task is given beside its model."""
