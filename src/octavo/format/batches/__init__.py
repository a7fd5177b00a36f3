"""Record batches: headers, records, the walk through a log."""
