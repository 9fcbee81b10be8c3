"""Metrics: of tokens, which leave padding out, and of made images."""
