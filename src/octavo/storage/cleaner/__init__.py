"""Compaction, which keeps the last record of each key."""
