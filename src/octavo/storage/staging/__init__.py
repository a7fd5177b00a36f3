"""Writes to many partitions at once: anybody stages batches as files, and one owner commits them, all or none.

`stage` writes the files, `commit` brings them in, `finish` ends what a crash interrupted, `sweep` removes what nobody
will commit.
"""
