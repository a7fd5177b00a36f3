"""Producing, fetching and offsets."""
