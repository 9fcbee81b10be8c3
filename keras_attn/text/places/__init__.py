"""Where tokens stand: in a text, and in a row of two."""
