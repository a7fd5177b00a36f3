"""Damage that no broker causes: small files, indexes, logs, names and kinds of files that are not what they should be.

Each function in `DAMAGES` damages a copy of the base directory and says what it did.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from tests.attack.hostile_base import PARTITION, make_bomb
from tests.fuzz.mutations import NUMBERS, mutated
from tests.fuzz.sealing import seal_log, seal_snapshot

SMALL_FILES = (
    *("meta.properties", "octavo-topics.json", "octavo-producer-ids.json", "octavo-commits.json"),
    *("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"),
    *("cleaner-offset-checkpoint", ".kafka_cleanshutdown", ".lock"),
    *(f"{PARTITION}/partition.metadata", f"{PARTITION}/leader-epoch-checkpoint"),
)
FOLDERS = (
    *(b"x-99999999999999999999", b"x-2147483648", b"x--1", b"-0", b"x-0\n", b"\xff\xfe-0", "ü-0".encode()),
    *(b"a" * 253 + b"-0", b"x-0.zz-delete", b"x-1e3", b"x-00", b"x-0 ", "x-٣".encode(), b"..-0", b"x-0-future"),
    *(b".hidden-0", b"lost+found", b"t-0 (copy)", b"x-+1", b"x-1_0", b"\x1b[2J-0", b"x-0." + b"0" * 32 + b"-delete"),
)
FILES = (
    *("99999999999999999999.log", "-0000000000000000001.log", "0.log", "00000000000000000000.log.bak"),
    *("9223372036854775807.log", "09223372036854775807.log", "00000000000000000003.log", "18446744073709551616.log"),
    *("00000000000000000000.LOG", "1e3.log", "00000000000000000000.log.deleted.deleted", "00000000000000000050.swap"),
    *("00000000000000000000.log.swap", "00000000000000000000.log.cleaned", "00000000000000000000.index.deleted"),
    *("٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠.log", "00000000000000000000.timeindex.swap", "\x1b]0;x.log", "00000000000000000000"),
)
BULK: tuple[Callable[[Random], bytes], ...] = (
    lambda draw: b"",
    lambda draw: draw.randbytes(draw.choice((1, 13, 500, 4000))),
    lambda draw: b"\xff" * draw.choice((1, 16, 4000)),
    lambda draw: bytes(draw.choice((1, 12, 4096, 400_000))),
    lambda draw: b"[" * 200_000,
    lambda draw: b'{"version":0,"nextProducerId":' + b"9" * 5000 + b"}",
    lambda draw: b"0\n1000000000\n" + b"".join(b"t %d 5\n" % number for number in range(3000)),
    lambda draw: b"0\n1\nt 0 %d\n" % draw.choice(NUMBERS),
    lambda draw: b"0\n1\n%d %d\n" % (draw.choice(NUMBERS), draw.choice(NUMBERS)),
    lambda draw: b"".join((1000 - number).to_bytes(4) * 2 for number in range(500)),
)


def some_file(draw: Random, root: Path) -> Path:
    """A small file, existing or not, or one in a partition."""
    if draw.random() < 0.4:
        return root / draw.choice(SMALL_FILES)
    folder = root / (
        PARTITION if draw.random() < 0.8 else draw.choice(("__consumer_offsets-0", "__transaction_state-0"))
    )
    return draw.choice(sorted(path for path in folder.iterdir() if not path.is_dir()))


def replaced(draw: Random, root: Path) -> str:
    path, content = some_file(draw, root), draw.choice(BULK)(draw)
    path.write_bytes(content)
    return f"{path.name} is {content[:20]!r}…, {len(content)} bytes"


def beginning(path: Path, size: int) -> bytes:
    """The beginning of a file, which another of these functions may have made larger than any memory."""
    with path.open("rb") as file:
        return file.read(size)


def changed(draw: Random, root: Path) -> str:
    path = some_file(draw, root)
    data = beginning(path, 1 << 20) if path.exists() else b""
    others = [beginning(other, 5000) for other in sorted(path.parent.glob(f"*{path.suffix}")) if other.is_file()]
    is_text = path.suffix not in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    damaged = mutated(draw, data, others or [b"0"], text=is_text)
    if path.suffix == ".log" and draw.random() < 0.6:
        seal_log(draw, damaged)
    if path.suffix == ".snapshot" and draw.random() < 0.6:
        seal_snapshot(draw, damaged)
    path.write_bytes(damaged)
    return f"{path.name} is mutated"


def special(draw: Random, root: Path) -> str:
    """Put something that is not a regular file in a file's place."""
    path, kind = (
        some_file(draw, root),
        draw.choice(("fifo", "socket", "folder", "dangling", "loop", "endless", "outside")),
    )
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        _make_socket(path)
    elif kind == "folder":
        path.mkdir()
    else:
        targets = {"dangling": "nowhere", "loop": path.name, "endless": "/dev/zero", "outside": str(outside(root))}
        path.symlink_to(targets[kind])
    return f"{path.name} is a {kind}"


def outside(root: Path) -> Path:
    """A file outside the directory, which nothing may change."""
    path = root.with_name("precious.log")
    path.write_bytes(b"precious" * 100)
    return path


def _make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path is limited to about 100 bytes
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)
    os.chdir(here)


def linked_folder(draw: Random, root: Path) -> str:
    """Add a partition that is a link, perhaps one being deleted."""
    target = root.with_name("elsewhere")
    shutil.copytree(root / PARTITION, target)
    name = draw.choice(("u-0", "t-1", "u-0." + "a" * 32 + "-delete", "u-0-stray"))
    (root / name).symlink_to(target)
    return f"{name} is a link to a folder elsewhere"


def named(draw: Random, root: Path) -> str:
    if draw.random() < 0.5:
        folder = os.fsencode(root) + b"/" + draw.choice(FOLDERS)
        Path(os.fsdecode(folder)).mkdir(exist_ok=True)
        Path(os.fsdecode(folder), "00000000000000000000.log").touch()
        return f"folder {folder[-60:]!r}"
    name = draw.choice(FILES)
    source = draw.choice(sorted((root / PARTITION).glob("*.log")))
    if draw.random() < 0.7:
        (root / PARTITION / name).write_bytes(beginning(source, 1 << 20))
    else:
        (root / PARTITION / name).mkdir(exist_ok=True)
    return f"{name!r} is there too"


def sparse(draw: Random, root: Path) -> str:
    path, size = some_file(draw, root), draw.choice((1 << 31, (1 << 31) + 5, 5 << 30, 8 << 30))
    with path.open("ab") as file:
        file.truncate(size)
    return f"{path.name} has {size} bytes, most of them a hole"


def gone(draw: Random, root: Path) -> str:
    path = some_file(draw, root)
    path.unlink(missing_ok=True)
    return f"{path.name} is gone"


@cache
def _bomb() -> bytes:
    return make_bomb()


def bomb(draw: Random, root: Path) -> str:
    path = draw.choice(sorted((root / PARTITION).glob("*.log")))
    data = bytearray(_bomb())
    data[:8] = int(path.stem).to_bytes(8)
    path.write_bytes(data + beginning(path, 1 << 20) if draw.random() < 0.5 else data)
    return f"{path.name} has a batch that unpacks to gigabytes"


DAMAGES: dict[Callable[[Random, Path], str], int] = {
    replaced: 30,
    changed: 40,
    special: 15,
    named: 10,
    sparse: 3,
    gone: 5,
    linked_folder: 2,
    bomb: 1,
}


def damage(draw: Random, root: Path) -> str:
    """Damage one or two things. Folders are copied first and special files made last, so that nothing here waits for
    a special file or writes through it."""
    kinds = draw.choices(list(DAMAGES), list(DAMAGES.values()), k=draw.choice((1, 1, 2)))
    in_order = sorted(dict.fromkeys(kinds), key=lambda kind: (kind is not linked_folder, kind is special))
    return "; ".join(kind(draw, root) for kind in in_order)
