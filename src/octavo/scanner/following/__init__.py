"""Follows files as they grow, starting from a group's offsets."""
