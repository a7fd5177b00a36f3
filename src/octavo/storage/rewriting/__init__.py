"""Rewrites segments next to the old ones: what the cleaner and upgrades have in common."""
