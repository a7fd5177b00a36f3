"""Configs of topics and of the broker."""
