"""Octavo's own small files that every log directory holds a copy of, such as the users and the configs of a broker."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from octavo.errors import CorruptionError
from octavo.format.small_files.json_object import decode_object, encode_object
from octavo.storage.files.small_file import read_file
from octavo.system.filesystem import FilesToRead

SharedContent = TypeVar("SharedContent")

_VERSION = 0


class SharedFile(Generic[SharedContent]):
    """A JSON file: its version, a revision that each change increments, and the content's own fields.

    A disk that was away may have an older copy: the highest revision counts. Only the user who owns a
    secret file can read it.
    """

    def __init__(
        self,
        name: str,
        to_fields: Callable[[SharedContent], dict[str, Any]],
        of_fields: Callable[[dict[str, Any]], SharedContent],
        *,
        is_secret: bool = False,
    ) -> None:
        self.name = name
        self.is_secret = is_secret
        self._to_fields = to_fields
        self._of_fields = of_fields

    def encode(self, revision: int, content: SharedContent) -> bytes:
        """The file's bytes."""
        return encode_object({"version": _VERSION, "revision": revision, **self._to_fields(content)})

    def decode(self, data: bytes) -> tuple[int, SharedContent]:
        """The revision and the content; CorruptionError if they are not what `encode` writes."""
        try:
            fields = decode_object(data, _VERSION)
            return int(fields["revision"]), self._of_fields(fields)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, binascii.Error) as error:
            raise CorruptionError(f"not what octavo writes to {self.name}: {error!r}") from None

    def read(self, files: FilesToRead, folder: Path) -> tuple[int, SharedContent] | None:
        """What a directory's copy holds; None if there is none."""
        return read_file(files, folder / self.name, self.decode)
