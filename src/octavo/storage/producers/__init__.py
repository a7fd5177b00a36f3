"""What a partition knows of its producers: idempotence, epochs and transactions."""
