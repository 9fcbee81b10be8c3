"""What a Hugging Face folder holds: settings and tensors."""
