"""What the weights of all layers tell of the whole model."""
