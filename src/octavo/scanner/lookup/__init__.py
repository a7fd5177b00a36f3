"""Finds offsets and times in a partition."""
