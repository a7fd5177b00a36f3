"""`octavo dump-log`: the flags, stdout, stderr and exit codes of Kafka 4.3.1's kafka-dump-log.

Where Kafka dies with an exception, stdout and exit code are the same, and stderr has one sentence instead. The text of
the usage is Octavo's own.
"""
