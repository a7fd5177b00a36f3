"""`octavo broker`: serves log directories to Kafka's clients."""

from __future__ import annotations

import gc
import resource
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple

import click

from octavo.broker.broker import Broker, check_addresses
from octavo.cli.options import command as declare
from octavo.cli.options import key_values, logdirs_argument
from octavo.cli.owner import Ownership, owned_as, warnings_on_stderr
from octavo.cli.plain import plain
from octavo.cli.progress import progress_bar
from octavo.cli.settings import UsageError
from octavo.client.log_dir import LogDir
from octavo.config.table import BROKER_CONFIGS, OF_LISTENER, SYNONYMS
from octavo.format.java import properties as java_properties
from octavo.jobs.directories import bytes_to_recover

_GIVEN_OTHERWISE = {"log.dirs", "log.dir"}
_DEFAULT_ADDRESS = "127.0.0.1:9092"
_OBJECTS_BETWEEN_COLLECTIONS = 20_000  # Python's own default is much lower: 700 in Python 3.11


class _Configs(NamedTuple):
    """The values of --config: files of configs, and single configs."""

    files: list[Path]
    own: dict[str, str]


def _configs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> _Configs:
    """Tell files from configs: what has no `=` is a path."""
    files = [Path(text) for text in given if "=" not in text]
    for path in files:
        if not path.is_file():
            raise click.BadParameter(f"{str(path)!r}, expected KEY=VALUE or the path of a properties file")
    return _Configs(files, key_values(context, option, tuple(text for text in given if "=" in text)))


@declare("broker")
@logdirs_argument
@click.option(
    "--listen", multiple=True, metavar="[PROTOCOL://]HOST:PORT",
    help="Where to listen; may be repeated with another PROTOCOL. Default: the config `listeners`, or else "
    "127.0.0.1:9092. Port 0 picks a free one; the line on stdout says which. PROTOCOL is PLAINTEXT, SSL, "
    "SASL_PLAINTEXT, SASL_SSL, or a name in the config listener.security.protocol.map.",
)  # fmt: skip
@click.option(
    "--advertise", multiple=True, metavar="[PROTOCOL://]HOST:PORT",
    help="The address that a listener's clients are given. Default: the config `advertised.listeners`, or else where "
    "it listens.",
)  # fmt: skip
@click.option(
    "--insecure", is_flag=True,
    help="Listen beyond this machine without authentication: everybody who reaches an address can use it.",
)  # fmt: skip
@click.option(
    "--read-only", is_flag=True,
    help="Serve the directories as they are now: lock nothing, change nothing, and refuse requests that would.",
)  # fmt: skip
@click.option("--metrics", metavar="HOST:PORT", help="Where Prometheus finds metrics; needs octavo[metrics].")
@click.option(
    "--config-file", type=click.Path(dir_okay=False, exists=True, path_type=Path), metavar="FILE",
    help="A broker's server.properties, like --config FILE. Configs that Octavo does not use are named on stderr.",
)  # fmt: skip
@click.option(
    "--config", "configs", multiple=True, metavar="KEY=VALUE|FILE", callback=_configs,
    help="A broker config, which overrides those in files, or the path of a server.properties; may be repeated. "
    "`octavo config` lists the configs.",
)  # fmt: skip
def command(
    logdirs: tuple[str, ...],
    listen: tuple[str, ...],
    advertise: tuple[str, ...],
    insecure: bool,
    read_only: bool,
    metrics: str | None,
    config_file: Path | None,
    configs: _Configs,
) -> None:
    """Serve log directories to Kafka's clients, until SIGTERM or Ctrl-C: then it stops cleanly, as a broker does.

    The directories are kept as a broker keeps them: retention and compaction run in the background. A missing one is
    created. With --read-only they may be a dead or running broker's, a backup, or URLs such as s3://bucket/logs, and
    nothing in them is changed.
    """
    _take_all_descriptors()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    merged: dict[str, str] = {}
    for path in [config_file, *configs.files] if config_file else configs.files:
        merged |= _read(path)
    merged |= configs.own
    addresses = listen or (None if "listeners" in merged else _DEFAULT_ADDRESS)
    try:
        check_addresses(addresses, advertise or None, merged, allow_remote=insecure, metrics=metrics)
        opening: AbstractContextManager[LogDir] = (
            owned_as(LogDir, logdirs, Ownership.read_only(merged)) if read_only else _opened(logdirs, merged)
        )
        with (
            warnings_on_stderr(),
            opening as logs,
            Broker(
                logs,
                listen=addresses,
                advertise=advertise or None,
                allow_remote=insecure,
                read_only=read_only,
                metrics=metrics,
            ) as broker,
        ):
            for name, address in broker.addresses.items():
                print(f"listening on {address}" + (f" ({name})" if name != "PLAINTEXT" else ""), flush=True)
            if metrics is not None:
                print(f"metrics on http://{broker.metrics_address}/metrics", flush=True)
            _settle_memory()
            stopped.wait()
    except (ValueError, ImportError) as error:
        raise UsageError(str(error)) from None


def _take_all_descriptors() -> None:
    """Raise the limit on open files as far as the system allows: a connection without TLS takes two descriptors."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS may report no maximum
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _settle_memory() -> None:
    """Exempt existing objects from garbage collection, and collect the rest less often: requests leave hardly
    any cycles, and looking for them took 3 % of the time."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def _opened(logdirs: Sequence[str], configs: Mapping[str, str]) -> LogDir:
    """Open the directories, with a progress bar on a terminal while they are recovered."""
    total = bytes_to_recover(logdirs, None) if sys.stderr.isatty() else 0
    with warnings_on_stderr(hold_offline=True), progress_bar("recovering", total) as progress:
        return LogDir(logdirs, configs=configs, create=True, upkeep=True, progress=lambda _, size: progress(size))


def _read(path: Path) -> Mapping[str, str]:
    """A file's configs, without log.dirs, log.dir and those that Octavo does not know.

    A controller's listeners are left out of `listeners`. Configs that are left out are named on stderr, and so are
    those that Octavo knows but does not use.
    """
    found = java_properties.decode(path.read_bytes())
    known = {
        name: value
        for name, value in found.items()
        if name in BROKER_CONFIGS or name in SYNONYMS or name.startswith(OF_LISTENER)
    }
    if "listeners" in known:  # a controller's listeners are not for clients
        controllers = found.get("controller.listener.names", "").split(",")
        kept = [name for name in known["listeners"].split(",") if name.strip().partition("://")[0] not in controllers]
        known["listeners"] = ",".join(kept)
    ignored = _GIVEN_OTHERWISE | {name for name, row in BROKER_CONFIGS.items() if not row.is_used}
    for name in sorted(found.keys() - known.keys() | found.keys() & ignored):
        print(plain(f"octavo: {path}: {name} is not used"), file=sys.stderr)
    return {name: value for name, value in known.items() if name not in _GIVEN_OTHERWISE}
