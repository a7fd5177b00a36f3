"""The broker itself."""
