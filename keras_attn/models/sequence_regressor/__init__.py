"""SequenceRegressor: a sequence to numbers or classes."""
