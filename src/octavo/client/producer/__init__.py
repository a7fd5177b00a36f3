"""`Producer`: turns records and tables into batches, and appends them to logs."""
