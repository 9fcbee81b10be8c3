"""The Transformer: encoder and decoder."""
