"""Kafka's wire protocol: frames, headers, and the schemas of requests and responses; no sockets."""
