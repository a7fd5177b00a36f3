"""Segments written again beside the old ones, and what the cleaner and upgrades share of it."""
