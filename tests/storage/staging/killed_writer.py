"""A process that stages and commits numbered batches until it is killed: `python -m … ROOT BATCHES [STEP BATCH]`.

With a step and a batch it kills itself after that step of that batch; its parent may kill it at any moment. Each start
publishes all batches; those that were committed before are skipped.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from octavo.storage.staging.commit import CommitStep
from octavo.system.filesystem import LocalFileSystem
from tests.storage.staging.scene import Scene, batch_values


def is_large(batch_id: int) -> bool:
    """Whether a batch is adopted as a segment."""
    return batch_id % 2 == 1


def values_of(batch_id: int) -> dict[int, list[bytes]]:
    return batch_values(batch_id, 12 if is_large(batch_id) else 2)


def main(root: str, batches: str, step: str = "", at_batch: str = "-1") -> None:
    scene = Scene(Path(root), filesystem=LocalFileSystem())
    scene.attempts = os.getpid() << 32
    print("started", flush=True)
    for batch_id in range(int(batches)):

        def die(done: CommitStep, batch_id: int = batch_id) -> None:
            if done == step and batch_id == int(at_batch):
                os.kill(os.getpid(), signal.SIGKILL)

        scene.publish(batch_id, scene.stage(values_of(batch_id)), die)


if __name__ == "__main__":
    main(*sys.argv[1:])
