"""What the folder of a version holds, and how it is written."""
