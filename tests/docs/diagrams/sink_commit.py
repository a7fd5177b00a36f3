"""The commit of a micro-batch, step by step, with what is on the disk after each step, taken from a real commit."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from octavo.storage.staging.commit import CommitStep
from octavo.storage.staging.ledger import read_store
from octavo.system.filesystem import LocalFileSystem
from tests.docs.diagrams.svg import Drawing
from tests.storage.staging.scene import Scene

STAGED = "staged"  # what tasks do before the commit begins
STEPS = {
    STAGED: ("0", "tasks write and sync their staged files", 0),
    CommitStep.CHECKED: ("1", "check that every partition accepts its batches", 2),
    CommitStep.DECIDED: ("2", "decide: note it as pending", 1),
    CommitStep.MADE: ("3", "create the topics that are missing", 2),
    CommitStep.APPENDED: ("4", "append the files to a log", 2),
    CommitStep.FLUSHED: ("5", "sync the logs", 2),
    CommitStep.CONCLUDED: ("6", "conclude: note it as done", 1),
    CommitStep.REMOVED: ("7", "remove the staged files", 2),
}
LANES = ("Spark task", "octavo-commits.json", "partition folders")
LANE_X = (110, 480, 640)
DRIVER_X = 270
TOP, ROW = 92, 44


class After(NamedTuple):
    """What is on the disk once a step is done."""

    step: str
    staged: int
    pending: bool
    done: bool
    bytes: tuple[int, ...]


def draw() -> Drawing:
    seen = _committed()
    assert [step for step in STEPS if step in {after.step for after in seen}] == list(STEPS)
    drawing = Drawing("The commit of a micro-batch", 960, TOP + ROW * len(seen) + 96)
    drawing.text(40, 30, "How a micro-batch gets into its topics: all of it or nothing, exactly once", "ink title")
    for name, x in (*zip(LANES, LANE_X, strict=True), ("driver", DRIVER_X)):
        drawing.box(x - 75, 46, 150, 26, "plain")
        drawing.label(x - 75, 46, 150, 26, name)
        drawing.line((x, 72), (x, TOP + ROW * len(seen) - 6), dashed=True)
    drawing.text(738, 63, "on the disk afterwards", "ink")
    for number, after in enumerate(seen):
        _step(drawing, TOP + number * ROW, after, from_task=number == 0)
    _crashes(drawing, TOP + ROW * len(seen) + 10)
    return drawing


def _committed() -> list[After]:
    """Stage and publish a batch for two partitions, and look at the directory after each step."""
    with TemporaryDirectory() as folder:
        scene = Scene(Path(folder), filesystem=LocalFileSystem())
        scene.create()
        staged = scene.stage({0: [b"a", b"b"], 1: [b"c"]})
        seen: list[After] = []

        def look(step: str) -> None:
            store = read_store(scene.filesystem, scene.root)
            logs = sorted(scene.root.glob("t-*/*.log"))
            sizes = tuple(path.stat().st_size for path in logs)
            seen.append(After(step, len(scene.staged_files()), store.pending is not None, bool(store.done), sizes))

        look(STAGED)
        scene.publish(0, staged, look)
    return seen


def _step(drawing: Drawing, y: int, after: After, *, from_task: bool) -> None:
    number, text, lane = STEPS[after.step]
    start, end = (LANE_X[0], LANE_X[2]) if from_task else (DRIVER_X, LANE_X[lane])
    is_turn = after.step in (CommitStep.DECIDED, CommitStep.CONCLUDED)
    drawing.text(start + 10, y + 8, f"{number}  {text}", "ink small halo")
    drawing.arrow((start, y + 14), (end - 5 * is_turn, y + 14))
    drawing.box(730, y - 8, 214, 36, "orange" if after.pending else "green" if after.done else "plain")
    state = "pending" if after.pending else "done" if after.done else "no commit noted"
    drawing.text(738, y + 6, f"{state}; {after.staged} staged files", "ink small")
    drawing.text(738, y + 21, f"logs have {' and '.join(map(str, after.bytes))} bytes", "soft small")
    if is_turn:
        drawing.box(LANE_X[1] - 5, y + 2, 10, 24, "orange" if after.pending else "green")


def _crashes(drawing: Drawing, y: int) -> None:
    for number, (fill, text) in enumerate((
        ("plain", "A crash here: the batch is in no partition. Its staged files are swept; Spark repeats it."),
        ("orange", "A crash here: whoever opens the directory to write next finishes the commit before anything else."),
        ("green", "A crash here: the batch is in all partitions. If Spark repeats it, it is skipped."),
    )):  # fmt: skip
        drawing.box(40, y + number * 26, 16, 14, fill)
        drawing.text(64, y + 11 + number * 26, text, "ink")
