"""The commands that need one file each."""
