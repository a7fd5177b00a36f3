"""The commands that consist of one file each."""
