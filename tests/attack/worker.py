"""A process that does everything at once with a directory, until it is killed."""

from __future__ import annotations

import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from tests.attack.journal import Journal
from tests.attack.scene import Scene, Work
from tests.attack.works import all_works
from tests.attack.worlds import Complaints, make_topics, opened


def work(root: Path, seed: int, generation: int, sending: Connection) -> None:
    """Report "opening", "opened", and then what is acknowledged, until the end."""
    journal = Journal(sending.fileno())
    Complaints(lambda told: journal.say("error", told))
    journal.say("opening", generation)
    logs = opened(root)
    make_topics(logs)
    journal.say("opened", generation)
    scene = Scene(logs, journal, Random(f"{seed}/{generation}"), generation)
    threads = [threading.Thread(target=_run, args=(one, journal)) for one in all_works(scene)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run(one: Work, journal: Journal) -> None:
    try:
        while True:
            one.step()
    except BaseException:
        journal.say("error", traceback.format_exc())
