"""Side-by-side runs against peers, with dated results."""
