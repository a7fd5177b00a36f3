"""Kafka's generated messages: one codec driven by schemas, and the record types of the internal topics."""
