"""SAGAN: images made of noise, by networks that attend to the whole grid."""
