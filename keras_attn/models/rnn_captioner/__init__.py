"""Captioners whose decoder is recurrent."""
