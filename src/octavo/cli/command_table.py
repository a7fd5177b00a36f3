"""The table of commands: what `octavo --help` lists, and where each command lives.

Listing a command imports nothing; running one imports its module, which has one of two forms:

- `command`: a click command made with `@octavo.cli.options.command(…)`. Its function returns the exit code, or None
  for 0.
- `main(arguments: list[str]) -> int`: for a `verbatim` command, which gets its arguments as typed. Click does not parse
  them: a tool that promises Kafka's flags parses them by Kafka's rules. Its `completion` names a module with a click
  `command` of the same flags, only for shell completion.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """Where a command lives, and its line in `octavo --help`."""

    module: str
    summary: str
    verbatim: bool = False
    completion: str | None = None


COMMANDS: dict[str, Command] = {
    "alter": Command("octavo.cli.commands.alter", "Change a topic's configs, or add partitions."),
    "broker": Command("octavo.cli.commands.broker", "Serve log directories to Kafka's clients."),
    "cat": Command("octavo.cli.cat.command", "Print the records of topics."),
    "compact": Command("octavo.cli.commands.compact", "Keep the last record of each key: one cleaner round."),
    "completion": Command("octavo.cli.commands.completion", "Print the script that lets a shell complete octavo."),
    "config": Command("octavo.cli.commands.config", "Show the configs of topics and brokers."),
    "consume": Command(
        "octavo.cli.commands.consume", "Print the records that a group has not read yet, and commit its offsets."
    ),
    "copy": Command("octavo.cli.commands.copy", "Append the batches of topics to another log directory."),
    "create": Command("octavo.cli.commands.create", "Create a topic."),
    "delete": Command("octavo.cli.commands.delete", "Delete topics."),
    "delete-records": Command("octavo.cli.commands.delete_records", "Delete the records before an offset."),
    "describe": Command(
        "octavo.cli.commands.describe", "Show cluster, disks, topics, configs in force and open transactions."
    ),
    "dump-log": Command(
        "octavo.cli.dump_log.command",
        "Dump files of a log directory as kafka-dump-log does.",
        verbatim=True,
        completion="octavo.cli.dump_log.completion",
    ),
    "explain": Command("octavo.cli.explain.command", "Show what is in a file of a log directory, byte by byte."),
    "groups": Command("octavo.cli.commands.groups", "Show the committed offsets and the lag of groups."),
    "help": Command("octavo.cli.commands.help", "Explain a command, or list all of them."),
    "lookup": Command("octavo.cli.commands.lookup", "Show where an offset or a time is found, and how."),
    "produce": Command("octavo.cli.produce.command", "Append records to a topic."),
    "recover": Command("octavo.cli.commands.recover", "Recover a log directory after a crash, as a broker does."),
    "reindex": Command("octavo.cli.commands.reindex", "Rebuild the indexes of segments from their logs."),
    "retain": Command("octavo.cli.commands.retain", "Delete the segments that exceed the retention limits."),
    "topics": Command("octavo.cli.commands.topics", "List the partitions of a log directory with exact counts."),
    "truncate": Command("octavo.cli.commands.truncate", "Cut the end of a partition's log."),
    "upgrade": Command("octavo.cli.commands.upgrade", "Rewrite old formats as v2, or all batches with another codec."),
    "users": Command("octavo.cli.commands.users", "List, add and remove the users who log in to a broker with SCRAM."),
    "verify": Command("octavo.cli.verify.command", "Check everything in a log directory."),
}
