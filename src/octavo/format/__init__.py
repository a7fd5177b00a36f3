"""Bytes to values and back, for every format in a Kafka log directory and for Kafka's protocol; no files, no clock."""
