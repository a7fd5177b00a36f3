"""The configs of topics, and the files that they come from."""
