"""fork() while a directory is open: the child cannot write to, close or unlock it, and the parent continues alone."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import octavo
from octavo.client.log_dir import LogDir
from octavo.errors import LogDirLockedError, OctavoError
from tests.attack import isolation
from tests.attack.after_loss import after_kill
from tests.attack.journal import Memory
from tests.attack.scene import Scene, Work
from tests.attack.tally import Tally
from tests.attack.works import all_works
from tests.attack.worlds import make_topics, opened

PATIENCE_SECONDS = 20
REFUSED, DONE, BROKEN = 10, 11, 12  # the exit codes of a child


def attack(seed: int, folder: Path) -> Tally:
    """Fork in the middle of the work; each child does something different with what it inherited."""
    draw, root, journal, tally = Random(f"forks {seed}"), folder / "logs", Memory(), Tally()
    logs = opened(root)
    make_topics(logs)
    works = all_works(Scene(logs, journal, draw))
    for work in works:
        work.step()
    deeds = children(logs, works)
    for name, (deed, allowed) in deeds.items():
        code = forked(deed, folder)
        tally.counts["forks"] += 1
        if code not in allowed:
            told = (folder / "child.txt").read_text() if code == BROKEN else ""
            tally.findings.append(f"a child that tried to {name} ended with {code}, expected one of {allowed} {told}")
        if not isolation.isolated(is_locked, root, seconds=PATIENCE_SECONDS, notes=folder):
            tally.findings.append(f"after a child tried to {name}, another process could open the directory")
            break
        for work in works:
            work.step()
    logs.close()
    found, _ = after_kill(root, journal.lines, is_crash=False)
    tally.add(found)
    return tally


def children(logs: LogDir, works: list[Work]) -> dict[str, tuple[Callable[[], object], tuple[int, ...]]]:
    """What a child may try, and the acceptable outcomes."""

    def leave() -> None:
        with logs:
            pass

    steps = {f"step {type(work).__name__} {number}": (work.step, (REFUSED,)) for number, work in enumerate(works)}
    return {
        **steps,
        "close": (logs.close, (DONE,)),
        "leave a with block": (leave, (DONE,)),
        "flush": (logs.flush, (REFUSED,)),
        "make a producer": (logs.producer, (REFUSED,)),
        "do nothing": (lambda: None, (DONE,)),
    }


def forked(deed: Callable[[], object], folder: Path) -> int:
    """How a child that does this ends: its exit code, or minus the signal that ended it when it hung."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            deed()
            code = DONE
        except OctavoError:
            code = REFUSED
        except BaseException:
            (folder / "child.txt").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(next(filter(None, _waits(child))))


def _waits(child: int) -> Iterator[int | None]:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        yield status if pid else None
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    yield os.waitpid(child, 0)[1]


def is_locked(root: Path) -> bool:
    """Whether this process, which is not the owner, is refused."""
    try:
        octavo.LogDir(root, background=False)
    except LogDirLockedError:
        return True
    return False
