"""The read-only side: log directories and the records in them. It changes none of them and takes no lock."""
