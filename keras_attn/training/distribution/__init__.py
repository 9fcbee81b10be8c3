"""Training on any number of devices and machines, by tf.distribute."""
