"""The rules by which beam search keeps and ranks its beams."""
