"""ViLBERT: a text and the regions of an image, in two streams."""
