"""Reading: offsets, tasks and record batches."""
