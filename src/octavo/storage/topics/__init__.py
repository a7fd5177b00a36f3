"""The configs of topics, and the files they come from."""
