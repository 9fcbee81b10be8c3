"""Images that look different in every epoch."""
