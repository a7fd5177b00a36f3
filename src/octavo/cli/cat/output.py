"""Where `octavo cat` writes: stdout, a device, a folder, or a file that appears only once it is complete."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from octavo.cli.settings import UsageError
from octavo.errors import OctavoError
from octavo.system.os_errors import placed
from octavo.system.urls import local_path


def given_path(output: str | None) -> str | None:
    """The local path that `--output` names; None means stdout."""
    if output is None or output == "-":
        return None
    path = local_path(output)
    if path is None:
        scheme = output.partition(":")[0]  # what follows may contain credentials
        raise UsageError(
            f"--output {scheme}:… is a URL, but records cannot be written to one: give a path on this machine"
        )
    return path


def is_replaceable(output: str) -> bool:
    """Whether the path is a file, a folder or nothing yet; a device or pipe is not replaced but written to."""
    path = Path(output)
    return path.is_file() or path.is_dir() or not path.exists()


def is_folder(output: str) -> bool:
    """Whether the path means a folder: one that exists, or a name that ends in a slash."""
    return Path(output).is_dir() or output.endswith("/")


def place_around(output: str, logdirs: Sequence[str]) -> str | None:
    """The place, among those being read, that contains the output: writing there could overwrite what is read."""
    path = Path(output).resolve()
    for place in logdirs:
        local = local_path(place)
        root = None if local is None else Path(local).resolve()
        if root is not None and (root if root.is_dir() else root.parent) in (path, *path.parents):
            return place
    return None


@contextmanager
def opened(output: str | None) -> Iterator[BinaryIO]:
    """Open the output. A file gets its name at the end, or not at all if writing fails."""
    if output is None:
        # Opened again, with a buffer: sys.stdout may have none, and a write could then be partial.
        sys.stdout.flush()
        with open(sys.stdout.fileno(), "wb", closefd=False) as stdout:
            yield stdout
    elif not is_replaceable(output):
        with placed(output), Path(output).open("wb") as device:
            yield device
    else:
        with _replaced(Path(output).resolve()) as sink:
            yield sink


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with placed(path), _created(hidden, path) as file:
            yield file
        hidden.rename(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def _created(hidden: Path, path: Path) -> BinaryIO:
    try:
        with made_at(path):
            return hidden.open("xb")
    except OSError as error:  # it names the hidden file
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def made_at(path: Path) -> Iterator[None]:
    """Say what to do if an output cannot be created at this path: create its folder, or choose another place."""
    try:
        yield
    except FileNotFoundError:
        if path.parent.is_dir():
            raise
        raise OctavoError(f"{path}: there is no folder {path.parent}; create it first") from None
    except PermissionError as error:
        raise OctavoError(f"{path}: {error.strerror}; choose a place that you may write to") from None
