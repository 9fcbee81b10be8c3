"""Published settings of whole trainings."""
