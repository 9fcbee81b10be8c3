"""Proof that an exported model answers as it did."""
