"""Tensor code that runs inside a served graph: core ops, rows independent."""
