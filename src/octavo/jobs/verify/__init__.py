"""`verify`: everything that can be checked in log directories, a module for each kind of file."""
