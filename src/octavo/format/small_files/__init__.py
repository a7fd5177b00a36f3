"""The small files of partitions and log directories."""
