"""`Consumer`: reads the records of topics, and commits its group's offsets."""
