"""The APIs about the broker itself."""
