"""What two networks that are trained against each other need."""
