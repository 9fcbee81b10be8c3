"""Training scripts, one for each task, each a document."""
