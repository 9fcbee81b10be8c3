"""Training that goes on where a killed run has stopped."""
