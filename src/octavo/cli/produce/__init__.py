"""`octavo produce`: appends records to a topic."""
