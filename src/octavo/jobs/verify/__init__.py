"""`verify`: everything that can be checked in log directories, one module per kind of file."""
