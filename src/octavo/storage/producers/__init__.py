"""What a partition knows about its producers: idempotence, epochs and transactions."""
