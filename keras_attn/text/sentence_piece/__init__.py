"""What SentencePiece's unigram models do to text, in core ops."""
