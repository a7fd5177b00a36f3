"""`Producer`: records and tables into batches, batches into logs."""
