"""`Consumer`: records of topics, and the offsets of its group."""
