"""Open files within the process's limit, small files replaced whole, and the files of dry runs."""
