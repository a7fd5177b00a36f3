"""Quotas of clients: what they are, where they are kept, and how they slow clients down."""
