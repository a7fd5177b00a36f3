"""The sink: tasks stage rows as finished batches, the driver commits them."""
