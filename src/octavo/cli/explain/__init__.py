"""`octavo explain`: shows the content of a file of a log directory, byte by byte."""
