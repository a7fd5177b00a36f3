"""Writing to many partitions at once: batches are staged as files by anybody, and committed by one owner, all or none.

`stage` writes the files, `commit` brings them in, `finish` ends what a crash interrupted, `sweep` removes what nobody
will commit.
"""
