"""The configs of topics and of the broker, and the files they come from."""
