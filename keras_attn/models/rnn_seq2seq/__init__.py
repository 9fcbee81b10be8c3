"""Recurrent encoder and decoder, with or without attention."""
