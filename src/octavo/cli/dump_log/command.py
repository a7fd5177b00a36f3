"""`octavo dump-log`: parses the flags, dumps each file according to its kind, and prints the findings at the end."""

from __future__ import annotations

import errno
import os

from octavo.cli.dump_log.java_file import JavaFile
from octavo.cli.dump_log.options import KAFKA_VERSION, Options, usage
from octavo.cli.dump_log.report import DumpFindings, say
from octavo.errors import CorruptionError, OctavoError

PURPOSE = "Dumps the files of a Kafka log directory as text, like kafka-dump-log."


def main(arguments: list[str]) -> int:
    options = Options(arguments)
    if not arguments or options.has("help"):
        return _fail_with_usage(PURPOSE)
    if options.has("version"):
        print(KAFKA_VERSION)
        return 0
    if not options.has("files"):
        return _fail_with_usage('Missing required argument "[files]"')
    findings = DumpFindings()
    for argument in options.files:
        if "://" in argument:
            _refuse_url(argument)
        file = JavaFile.of(argument)
        print(f"Dumping {file}")
        try:
            _dump(file, options, findings)
        except CorruptionError:
            # The name is parsed first, as in Kafka; nevertheless, a file that does not exist is reported as missing.
            if not os.path.exists(file.path):  # noqa: PTH110 - pathlib takes long to import
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file.path) from None
            raise
    findings.print()
    return 0


def _dump(file: JavaFile, options: Options, findings: DumpFindings) -> None:
    match file.suffix:
        case ".log" | ".checkpoint":
            from octavo.cli.dump_log.log import dump_log

            dump_log(file, options, findings)
        case ".index":
            from octavo.cli.dump_log.offset_index import dump_offset_index

            dump_offset_index(file, options, findings)
        case ".timeindex":
            from octavo.cli.dump_log.time_index import dump_time_index

            dump_time_index(file, options, findings)
        case ".snapshot":
            from octavo.cli.dump_log.producer_snapshot import dump_producer_snapshot

            dump_producer_snapshot(file)
        case ".txnindex":
            from octavo.cli.dump_log.txn_index import dump_txn_index

            dump_txn_index(file)
        case _:
            say(f"Ignoring unknown file {file}")


def _refuse_url(argument: str) -> None:
    from octavo.system.urls import local_path, shown_url

    if local_path(argument) is None:
        problem = "dump-log reads local files, like Kafka's tool; `octavo explain` and `octavo cat` accept URLs"
        raise OctavoError(f"{shown_url(argument)}: {problem}")


def _fail_with_usage(sentence: str) -> int:
    say(sentence, usage())
    return 1
