"""Kafka's generated messages: one schema-driven codec, and the tables of the internal topics."""
