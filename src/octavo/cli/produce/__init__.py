"""`octavo produce`: records into a topic."""
