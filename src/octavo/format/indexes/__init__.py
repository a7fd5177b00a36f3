"""The three index files of a segment."""
