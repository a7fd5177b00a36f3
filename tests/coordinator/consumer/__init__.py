"""Consumer groups (KIP-848)."""
