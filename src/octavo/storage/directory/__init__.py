"""Log directories: locked, identified and listed; the logs that are open in them, and their topics."""
