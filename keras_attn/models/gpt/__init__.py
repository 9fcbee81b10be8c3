"""GPT: the decoder-only Transformer."""
