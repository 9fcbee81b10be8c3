"""What a run of `fit` calls at each step and epoch."""
