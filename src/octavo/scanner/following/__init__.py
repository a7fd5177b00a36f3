"""Follows files as they grow; with a group, from its committed offsets on."""
