"""BERT: the bidirectional encoder."""
