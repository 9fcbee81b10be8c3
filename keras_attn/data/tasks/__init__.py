"""From examples of a source to what a model is trained on."""
