"""The read-only side: log directories and the records in them. It changes nothing and takes no lock."""
