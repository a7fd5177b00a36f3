"""Examples of each command except `dump-log`, for the end of its `--help` and for the reference; and hints for users of
other tools."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "alter": (
        "octavo alter logs --topic orders --config retention.ms=86400000",
        "octavo alter logs --topic orders --partitions 6",
    ),
    "broker": (
        "octavo broker logs",
        "octavo broker /mnt/dead-disk --read-only",
        "octavo broker s3://backup/kafka --read-only",
        "octavo broker logs --listen 127.0.0.1:0 --config auto.create.topics.enable=false",
    ),
    "cat": (
        "octavo cat /var/lib/kafka/data --topic orders --tail 10",
        "octavo cat /var/lib/kafka/data --topic orders --follow --grep failed --format raw",
        "octavo cat s3://backup/kafka --include 'orders.*' --format parquet --text --output orders/",
    ),
    "compact": (
        "octavo compact logs --topic customers --dry-run",
        "octavo compact logs --topic customers --force",
    ),
    "completion": (
        'eval "$(octavo completion bash)"',
        "octavo completion fish > ~/.config/fish/completions/octavo.fish",
    ),
    "config": (
        "octavo config --describe retention.ms",
        "octavo config --json",
    ),
    "consume": (
        "octavo consume logs --topic orders --group billing --max-messages 100",
        "octavo consume logs --include 'orders.*' --format raw",
    ),
    "copy": (
        "octavo copy /mnt/dead-disk logs --topic orders",
        "octavo copy s3://backup/kafka logs --topic orders --config retention.ms=-1",
    ),
    "create": (
        "octavo create logs --topic orders --partitions 3",
        "octavo create logs --topic customers --config cleanup.policy=compact",
    ),
    "delete": (
        "octavo delete logs --topic orders",
        "octavo delete logs --topic orders --topic customers --json",
    ),
    "delete-records": (
        "octavo delete-records logs --topic orders --partition 0 --offset 1000",
        "octavo delete-records logs --topic orders --partition 0 --offset 1000 --json",
    ),
    "describe": (
        "octavo describe /var/lib/kafka/data",
        "octavo describe /disk1 /disk2 --topic orders --json",
    ),
    "explain": (
        "octavo explain logs/orders-0",
        "octavo explain logs/orders-0/00000000000000000000.log --offset 42",
        "octavo explain logs/orders-0/00000000000000000000.log --html > page.html",
    ),
    "groups": (
        "octavo groups /var/lib/kafka/data",
        "octavo groups /var/lib/kafka/data --group billing --json",
    ),
    "help": ("octavo help", "octavo help cat"),
    "lookup": (
        "octavo lookup logs --topic orders --timestamp 2026-11-01T12:00Z",
        "octavo lookup logs --topic orders --partition 0 --offset 42",
    ),
    "produce": (
        "octavo produce logs --topic orders --file records.jsonl",
        "octavo produce logs --topic orders --compression-type zstd < lines.txt",
    ),
    "recover": (
        "octavo recover /mnt/dead-disk --dry-run",
        "octavo recover logs",
    ),
    "reindex": (
        "octavo reindex logs --topic orders",
        "octavo reindex logs --json",
    ),
    "retain": (
        "octavo retain logs --dry-run",
        "octavo retain logs --topic orders --config retention.ms=86400000",
    ),
    "topics": (
        "octavo topics /var/lib/kafka/data",
        "octavo topics s3://backup/kafka --json",
    ),
    "truncate": (
        "octavo truncate logs --topic orders --partition 0 --offset 1000 --dry-run",
        "octavo truncate logs --topic orders --partition 0 --offset 1000",
    ),
    "upgrade": (
        "octavo upgrade logs --dry-run",
        "octavo upgrade logs --topic orders --compression-type zstd",
    ),
    "users": (
        "octavo users logs --add alice",
        "octavo users logs",
    ),
    "verify": (
        "octavo verify /mnt/dead-disk",
        "octavo verify s3://backup/kafka --json",
    ),
}

# What users of other tools type, and the command for it here.
HINTS = {
    "check": "verify",
    "describe-topics": "describe",
    "dump": "dump-log",
    "export": "cat --format parquet --output FOLDER/",
    "fsck": "verify",
    "grep": "cat --grep PATTERN",
    "head": "cat --max-messages N",
    "info": "describe",
    "lag": "groups",
    "list": "topics",
    "ls": "topics",
    "offsets": "groups",
    "read": "cat",
    "repair": "recover --dry-run",
    "salvage": "copy SRC DST",
    "serve": "broker",
    "start": "broker",
    "tail": "cat --tail N --follow",
    "write": "produce",
}

# Short options of kcat, head, tail and others, and their meanings here: the first that the command has is suggested.
LETTERS = {
    "-c": ("--max-messages", "--config"),
    "-f": ("--follow", "--file", "--format"),
    "-g": ("--group", "--grep"),
    "-k": ("--key",),
    "-n": ("--max-messages", "--dry-run"),
    "-o": ("--offset", "--output"),
    "-p": ("--partition", "--partitions"),
    "-t": ("--topic",),
}
