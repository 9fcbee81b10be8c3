"""A loopback server that speaks TF Serving's gRPC and REST."""
