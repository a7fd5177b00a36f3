"""Appending: batches are checked, given their offsets and written."""
