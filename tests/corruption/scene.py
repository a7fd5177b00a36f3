"""A golden directory for tests of damage: one byte is changed, everything that it may affect is verified, and the byte
is restored."""

from __future__ import annotations

import os
import random
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from octavo.format.names import PartitionFolder
from octavo.jobs.verify.finding import Finding
from octavo.jobs.verify.job import Verification
from octavo.jobs.verify.plan import plan
from octavo.system.runner import InlineRunner
from tests.golden.archives import GOLDEN, entry

# How many of the zeros at a file's end may be flipped; in an index's 10 MB, the first are as good as the rest.
_ZEROS = 64


class Flip(NamedTuple):
    """One changed byte in a file."""

    path: Path
    position: int
    old: int
    new: int

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name} at {self.position}: {self.old:#04x} to {self.new:#04x}"


@dataclass(slots=True)
class Scene:
    """A copy of an archive, and the findings in it without damage."""

    root: Path
    files: list[Path]
    sizes: list[int]  # how much of each file is flipped
    quiet: dict[Path, set[Finding]]

    @classmethod
    def of(cls, archive: str, root: Path) -> Scene:
        with tarfile.open(GOLDEN / entry(archive)["archive"]) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(root)
        files = sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
        for path in files:
            path.chmod(0o644)
        return cls(root, files, [_used(path) for path in files], {})

    def flips(self, count: int, seed: int) -> Iterator[Flip]:
        """Half of them anywhere, half in a file of a randomly drawn kind, so that small files count too."""
        draw = random.Random(seed)
        kinds: dict[str, list[int]] = {}
        for number, path in enumerate(self.files):
            kinds.setdefault(path.suffix or path.name, []).append(number)
        for _ in range(count):
            if draw.random() < 0.5:
                number = draw.choices(range(len(self.files)), self.sizes)[0]
            else:
                number = draw.choice(kinds[draw.choice(sorted(kinds))])
            path, position = self.files[number], draw.randrange(self.sizes[number])
            with path.open("rb") as file:
                file.seek(position)
                (old,) = file.read(1)
            change = 1 << draw.randrange(8) if draw.random() < 0.5 else draw.randrange(1, 256)
            yield Flip(path, position, old, old ^ change)

    def found(self, flip: Flip) -> list[Finding]:
        """The findings that only occur while that byte is changed."""
        folder = flip.path.parent
        if folder not in self.quiet:
            self.quiet[folder] = set(self._verify(folder))
        with changed(flip):
            return [found for found in self._verify(folder) if found not in self.quiet[folder]]

    def _verify(self, folder: Path) -> list[Finding]:
        """Verify everything, or for a partition's folder, the root and all partitions of its topic: no other findings
        depend on their files."""
        if folder == self.root:
            return list(Verification(plan([self.root]), InlineRunner()).findings())
        topic = PartitionFolder.parse(folder.name).topic
        return list(Verification(plan([self.root], lambda name: name.topic == topic), InlineRunner()).findings())


@contextmanager
def changed(flip: Flip) -> Iterator[None]:
    """Change the byte within the block. The file's times stay, because verification waits if they are recent."""
    status = flip.path.stat()
    try:
        _write(flip.path, flip.position, flip.new, status)
        yield
    finally:
        _write(flip.path, flip.position, flip.old, status)


def _write(path: Path, position: int, byte: int, status: os.stat_result) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(bytes([byte]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _used(path: Path) -> int:
    """How far a file is flipped: not through all the zeros at the end of an index or a preallocated log."""
    size = path.stat().st_size
    content = path.read_bytes() if size < 1 << 20 else path.read_bytes()[: 1 << 20]
    return min(len(content.rstrip(b"\0")) + _ZEROS, size)
