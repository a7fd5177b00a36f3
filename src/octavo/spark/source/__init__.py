"""Reads log directories for Spark: offsets, tasks and record batches."""
