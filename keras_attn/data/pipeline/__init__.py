"""From examples to batches of fixed shapes."""
