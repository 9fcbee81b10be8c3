"""A student that learns from a teacher."""
