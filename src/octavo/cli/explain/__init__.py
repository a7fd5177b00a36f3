"""`octavo explain`: shows the content of a log file, byte by byte."""
