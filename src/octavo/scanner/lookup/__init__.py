"""Offsets and times to places in a partition."""
