"""Writing: rows to staged batches, and their commit."""
