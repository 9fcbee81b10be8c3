"""ViT: an image as a sequence of patches."""
