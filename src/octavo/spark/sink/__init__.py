"""The sink: tasks stage rows as finished batches, and the driver commits them."""
