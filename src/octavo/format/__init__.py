"""Bytes to values and back, for every format in a Kafka log directory; no files, no clock."""
