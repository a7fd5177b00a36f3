"""What a query asks for: its options, checked before any file is read."""
