"""Where log directories are read from, and which files they hold."""
