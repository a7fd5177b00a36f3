"""Appends batches to a log: checks them, assigns their offsets and writes them."""
