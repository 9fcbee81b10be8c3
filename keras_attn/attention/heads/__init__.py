"""What multi-head attention is made of: heads, their maps and their caches."""
