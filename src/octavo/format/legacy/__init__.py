"""Reads and writes messages of v0 and v1."""
