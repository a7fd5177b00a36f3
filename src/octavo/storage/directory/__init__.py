"""Log directories: their locks, identities and folders, the logs open in them, and their topics."""
