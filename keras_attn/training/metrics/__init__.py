"""Metrics that leave padding out."""
