"""A segment and its files."""
