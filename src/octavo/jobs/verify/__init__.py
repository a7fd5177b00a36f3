"""The checks of `octavo verify`: of each kind of file, and of what files say about each other."""
