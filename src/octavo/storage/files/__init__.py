"""Files kept open within the process's limit, small files replaced as a whole, and the files of dry runs."""
