"""Examples from files, arrays and tensorflow-datasets."""
