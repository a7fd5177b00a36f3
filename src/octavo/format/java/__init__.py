"""Text as Java reads and writes it."""
