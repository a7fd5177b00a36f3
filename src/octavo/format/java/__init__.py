"""Reads and writes text the way Java does."""
