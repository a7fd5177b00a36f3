"""`octavo dump-log`: Kafka 4.3.1's kafka-dump-log, to the letter: flags, stdout, stderr, exit codes.

Where Kafka dies with an exception, stdout and exit code are the same, and stderr has one sentence instead.
"""
