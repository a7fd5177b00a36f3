"""A plan of tasks, and the records that each of them reads."""
