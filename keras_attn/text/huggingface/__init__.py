"""Readers of tokenizers that Hugging Face's libraries wrote."""
