"""What a task is given beside its model: checks, and texts to try it with."""
