"""What a block normalises its vectors by."""
