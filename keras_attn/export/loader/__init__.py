"""TensorFlow's C++ session: SavedModels without Python TensorFlow."""
