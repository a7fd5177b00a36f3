"""`Consumer`: reads the records of topics, and commits the offsets of its group."""
