"""What commands share: how they are declared, the options that several have, and how they print."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

import click

from octavo.cli.plain import plain, plain_json
from octavo.cli.progress import print_line
from octavo.cli.settings import Settings
from octavo.cli.units import with_units
from octavo.errors import ConfigError, ScanError

if TYPE_CHECKING:
    from octavo.scanner.findings import Note

Function = TypeVar("Function", bound=Callable[..., object])


def in_order(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """One decorator for several options, which the help lists in this order."""

    def declare_all(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return declare_all


def _set_debug(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    settings = ctx.find_object(Settings)
    if asked and settings is not None:
        settings.debug = True


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, is_eager=True, callback=_set_debug,
    help="Show the traceback of a failure.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
# An unreadable place is not wrong usage: the command reports it, with the system's reason.
path_type = click.Path(readable=False)
logdirs_argument = click.argument("logdirs", metavar="LOGDIR...", nargs=-1, required=True, type=path_type)
topic_option = click.option("--topic", required=True, metavar="T", help="The topic.")


def topics_option_of(default: str) -> Callable[[Function], Function]:
    """The option `--topic`, which may be repeated; `default` says which topics are meant without it."""
    return click.option(
        "--topic", "topics", multiple=True, metavar="T", help=f"A topic; may be repeated. Default: {default}."
    )


topics_option = topics_option_of("all")
user_topics_option = topics_option_of("all but Kafka's internal ones")
partitions_option = click.option(
    "--partition", "partitions", multiple=True, type=click.IntRange(min=0), metavar="P",
    help="A partition; may be repeated. Default: all.",
)  # fmt: skip


def _pattern(_: click.Context, __: click.Parameter, given: str | None) -> re.Pattern[str] | None:
    try:
        return None if given is None else re.compile(given)
    except re.error as error:
        raise click.BadParameter(f"{given!r} is not a regular expression: {error}") from None


include_option = click.option(
    "--include", metavar="PATTERN", callback=_pattern,
    help="Topics whose whole name matches this regular expression.",
)  # fmt: skip


def timestamp(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Convert a time, given as ISO 8601 or in milliseconds since 1970, to milliseconds."""
    from octavo.scanner.lookup.bounds import to_milliseconds  # not needed for shell completion

    try:
        return None if text is None else to_milliseconds(text)
    except ScanError as error:
        raise click.BadParameter(str(error)) from error


now_option = click.option(
    "--now", "now_ms", metavar="MS|ISO", callback=timestamp,
    help="The time to judge by, in milliseconds since 1970 or as ISO 8601; default: now.",
)  # fmt: skip
partition_option = click.option(
    "--partition", required=True, type=click.IntRange(min=0), metavar="P", help="The number of the partition."
)


def _set_unpack_limit(context: click.Context, _: click.Parameter, given: int | None) -> None:
    """Set the limit for all parts of the command, and for Spark's workers on this machine."""
    if given is None:
        return
    from octavo.format.compression import LIMIT_VARIABLE  # not needed for shell completion

    before = os.environ.get(LIMIT_VARIABLE)
    os.environ[LIMIT_VARIABLE] = str(given)

    def restore() -> None:
        os.environ.pop(LIMIT_VARIABLE)
        if before is not None:
            os.environ[LIMIT_VARIABLE] = before

    context.call_on_close(restore)


unpacked_option = click.option(
    "--max-unpacked-bytes", type=click.IntRange(min=1), metavar="N", expose_value=False, callback=_set_unpack_limit,
    help="How many bytes a compressed batch may unpack to, default 268435456 (256 MiB); larger ones count as damaged.",
)  # fmt: skip
isolation_option = click.option(
    "--isolation-level", type=click.Choice(["read_uncommitted", "read_committed"]), default="read_uncommitted",
    help="Whether to read records of open and aborted transactions; default: read_uncommitted.",
)  # fmt: skip


def key_values(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The values of a repeated option of the form KEY=VALUE."""
    configs = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"{text!r}, expected KEY=VALUE")
        configs[name] = value
    return configs


def offset_or(*names: str) -> Callable[[click.Context, click.Parameter, str | None], int | str | None]:
    """A callback that accepts an offset, or one of these names that stand for one."""

    def convert(_: click.Context, __: click.Parameter, text: str | None) -> int | str | None:
        if text is None or text in names:
            return text
        if text.isascii() and text.isdigit():
            return int(text)
        raise click.BadParameter(f"{text!r} is not an offset, expected a number, {' or '.join(names)}")

    return convert


def topic_configs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Parse topic configs; an unknown config or an invalid value is wrong usage."""
    from octavo.config.table import parse_topic  # not needed for shell completion

    configs = key_values(context, option, given)
    try:
        parse_topic(configs)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error
    return configs


def configs_option(
    callback: Callable[..., object], what: str = "A config that overrides the topic's"
) -> Callable[[Function], Function]:
    """The option `--config`; the callback checks names and values."""
    return click.option(
        "--config", "configs", multiple=True, metavar="KEY=VALUE", callback=callback,
        help=f"{what}; may be repeated. `octavo config` lists them.",
    )  # fmt: skip


config_option = configs_option(topic_configs)


def command(
    name: str, cls: type[click.Command] = click.Command
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Declare a command: its function's docstring is its help, and its return value the exit code."""

    def declare(function: Callable[..., int | None]) -> click.Command:
        return debug_option(click.command(name, cls)(function))  # last in the help, before --help

    return declare


def coloured(text: str, colour: str) -> str:
    """The text, coloured if stdout is a terminal that is not dumb, and NO_COLOR (no-color.org) is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, fg=colour)


def print_json(fields: Mapping[str, object]) -> None:
    """Print one line of `--json` output."""
    print_line(plain_json(json.dumps(fields, ensure_ascii=False, separators=(",", ":"))), sys.stdout)


def echo(line: str, *, err: bool = False) -> None:
    """Print a line of a command's result, or a message on stderr, with larger units after its sizes and times."""
    print_line(plain(with_units(line)), sys.stderr if err else sys.stdout)


def many(number: int, one: str, several: str | None = None) -> str:
    """A number with its noun in the singular or the plural."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def say_notes(notes: Iterable[Note]) -> None:
    """Print a reader's notes on stderr; a note with a position is followed by the command that shows what is there."""
    for note in notes:
        shown = shlex.quote(note.path)
        shows = "" if note.position is None else f" (octavo explain --position {note.position} {shown})"
        echo(f"octavo: {note}{shows}", err=True)
