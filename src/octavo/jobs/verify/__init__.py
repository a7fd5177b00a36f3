"""`verify`: everything that can be checked in log directories, one module for each kind of file."""
