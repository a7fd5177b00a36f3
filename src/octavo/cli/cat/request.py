"""The request of `octavo cat`: its options as one value, checked before a file is read."""

from __future__ import annotations

import base64
import binascii
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from octavo.cli.cat.output import given_path, is_folder, is_replaceable, place_around
from octavo.cli.settings import UsageError
from octavo.errors import ScanError, first_of
from octavo.format.names import UNNAMED_TOPICS
from octavo.jobs.export import ExportForm
from octavo.scanner.api import Scan, scan
from octavo.scanner.log_dirs import open_log_dirs
from octavo.scanner.lookup.bounds import FromEnd, Offset
from octavo.scanner.reading.plan import IsolationLevel

TextForm = Literal["json", "raw", "csv"]
TEXT_FORMS: tuple[TextForm, ...] = ("json", "raw", "csv")
_NAMED = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class CatRequest:
    """The options as given, one field each."""

    logdirs: tuple[str, ...]
    topics: tuple[str, ...]
    include: re.Pattern[str] | None
    partitions: tuple[int, ...]
    offset: Offset | None
    tail: int | None
    to_offset: Offset
    from_timestamp: int | None
    to_timestamp: int | None
    key: str | None
    grep: str | None
    max_messages: int | None
    follow: bool
    isolation_level: IsolationLevel
    given_form: TextForm | ExportForm | None
    as_json: bool
    given_output: str | None
    shown: str
    text: bool
    master: str | None

    @property
    def form(self) -> TextForm | ExportForm:
        return self.given_form or "json"

    @property
    def output(self) -> str | None:
        """Where to write; None means stdout. The path of a folder that does not exist yet ends in a slash."""
        path = given_path(self.given_output)
        if path is not None and self.master is not None and not Path(path).exists():
            return f"{path.rstrip('/')}/"  # Spark's tasks write a folder, whatever its name
        return path

    def check(self) -> None:
        """Raise UsageError for options that cannot be used together, or not with this output."""
        self._check_choice()
        self._check_output()
        if self.follow:
            self._check_follow()

    def scan(self) -> Scan:
        """The records; raises if a pattern matches no topic."""
        try:
            records = scan(
                self.logdirs,
                self.include or self.topics or None,
                self.partitions or None,
                from_offset=self._start(),
                to_offset=self.to_offset,
                from_timestamp=self.from_timestamp,
                to_timestamp=self.to_timestamp,
                isolation_level=self.isolation_level,
                key=None if self.key is None else _bytes(self.key, self.shown),
                grep=self.grep,
                text=self.text,
                on_damage="skip",
            )
        except ScanError as error:
            if self.grep is not None and "regular expression" in str(error):
                raise UsageError(f"--grep: {error}") from None
            raise
        if self.include is not None:
            self._check_pattern(self.include)
        return records

    def _start(self) -> Offset:
        if self.tail is not None:
            return FromEnd(self.tail)
        return "earliest" if self.offset is None else self.offset

    def _check_choice(self) -> None:
        if self.as_json and self.given_form not in (None, "json"):
            raise UsageError(f"--json and --format {self.given_form} cannot be used together; see `octavo cat --help`")
        if self.topics and self.include is not None:
            raise UsageError("--topic and --include cannot be used together; see `octavo cat --help`")
        if self.offset is not None and self.tail is not None:
            raise UsageError("--offset and --tail cannot be used together; see `octavo cat --help`")
        if isinstance(self.offset, int) and isinstance(self.to_offset, int) and self.to_offset < self.offset:
            raise UsageError(f"--to-offset {self.to_offset} lies before --offset {self.offset}: choose a later end")
        if self.text and self.shown != "text":
            raise UsageError(f"--text and --bytes {self.shown} cannot be used together; see `octavo cat --help`")

    def _check_output(self) -> None:
        form, output = self.form, self.output
        if output is None and form not in TEXT_FORMS and sys.stdout.isatty():
            raise UsageError(f"{form} cannot be printed on a terminal; give --output FILE or a pipe")
        if output is not None and form in TEXT_FORMS and is_folder(output) and self.master is None:
            raise UsageError(f"{output} is a folder, expected a file for {form}")
        if output is not None and is_replaceable(output) and (place := place_around(output, self.logdirs)) is not None:
            raise UsageError(f"--output {output} lies in {place}, which is being read: choose a place outside it")
        if self.master is not None and (output is None or form in TEXT_FORMS or not is_folder(output)):
            raise UsageError("--spark writes a folder of files: give --format arrow or parquet, and --output FOLDER")

    def _check_follow(self) -> None:
        if self.form not in TEXT_FORMS or (self.output is not None and is_replaceable(self.output)):
            raise UsageError("--follow can only print json, csv or raw to stdout or a device, not write files")
        if self.to_offset != "latest" or self.to_timestamp is not None:
            raise UsageError("--follow waits for more records at the end: leave out --to-offset and --to-timestamp")

    def _check_pattern(self, include: re.Pattern[str]) -> None:
        log_dirs = open_log_dirs(self.logdirs, lambda _: False)
        topics = [topic for topic in sorted(log_dirs.topics()) if topic not in UNNAMED_TOPICS]
        if not any(map(include.fullmatch, topics)):
            known = first_of(topics, _NAMED) or "none"
            problem = f"no topic's name matches {include.pattern!r}; the topics are: {known}"
            raise ScanError(f"{log_dirs.shown()}: {problem}")


def _bytes(key: str, shown: str) -> bytes:
    """The bytes of --key, which is in the form that --bytes names."""
    try:
        if shown == "hex":
            return bytes.fromhex(key)
        return base64.b64decode(key, validate=True) if shown == "base64" else key.encode("utf-8", "surrogateescape")
    except (ValueError, binascii.Error):
        raise UsageError(f"--key {key} is not valid {shown}, the form given by --bytes") from None
