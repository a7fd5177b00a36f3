"""`octavo explain`: the anatomy of what is in a log file, byte by byte."""
