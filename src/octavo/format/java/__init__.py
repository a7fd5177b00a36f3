"""Reads and writes text the way Java does, and lists keys in the order of its hash maps."""
