"""Writes to many partitions at once: any process stages batches as files, and one owner commits them, all or none.

`stage` writes the files; `commit` brings them in, and its `finish` completes what a crash interrupted; `sweep` removes
what nobody will commit.
"""
