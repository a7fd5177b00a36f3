"""Configs of topics, groups and brokers, and the quotas of clients."""
