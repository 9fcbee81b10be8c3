"""Data that comes with the package or is made by it."""
