"""Reading compared with its peers: `python -m benchmarks.reading [--scale S] [--rounds N] [--only TEXT]`.

Kafka's tools and clients, and Spark's Kafka source, take turns with our jobs if their jars are there (`make kafka`).
Otherwise an earlier measurement takes their place, marked `*`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

import octavo
from benchmarks import clocks, kafka
from benchmarks.data import D1, D2, D4
from benchmarks.directory import log_directory
from benchmarks.jobs import walk_file
from benchmarks.measure import Contender, measure
from benchmarks.options import parse, print_heading
from benchmarks.reading_peers import Peers, nothing, tool
from benchmarks.results import Result, keep
from octavo.jobs import export
from octavo.jobs.export import ExportRequest
from octavo.system.runner import ThreadRunner

OCTAVO = str(Path(sys.executable).with_name("octavo"))
FIRST_BATCH_BYTES = 16188  # in d1


@dataclass(frozen=True)
class Versus:
    """A job and its peer; the gate is met when the peer takes at least `gate` times our CPU or wall time.

    If the peer cannot run here, `quoted` is the time that it took elsewhere for as much data; for a job without a peer,
    it is a limit in seconds.
    """

    name: str
    ours: Contender
    peer: Contender
    gate: float
    by: Literal["cpu", "wall"] = "cpu"
    quoted: float = 0.0
    starts: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)  # start-up seconds to subtract: ours, the peer's


def command(name: str, *arguments: object) -> Contender:
    line = [OCTAVO, name, *map(str, arguments)]
    return Contender(f"octavo {name}", lambda: kafka.run(line), clocks.children)


def start_jobs(root: Path, scale: float, peers: Peers) -> Iterator[Versus]:
    """Commands that finish before a Java virtual machine has started."""
    tiny = kafka.tiny_log(root / "tiny-0", root / "d1-0" / f"{0:020}.log", FIRST_BATCH_BYTES)
    yield Versus("octavo --help", command("--help"), Contender("limit", nothing), 1.0, "wall", 0.15)
    java = tool("kafka-dump-log", kafka.dump_log("--files", tiny))
    yield Versus(
        "dump-log, one batch, whole command", command("dump-log", "--files", tiny), java, 1 / 0.3, "wall", 0.54
    )


def dump_jobs(root: Path, scale: float, peers: Peers) -> Iterator[Versus]:
    """Long dumps, without the start-up time of either tool."""
    log = root / "d1-0" / f"{0:020}.log"
    tiny = kafka.tiny_log(root / "tiny-0", log, FIRST_BATCH_BYTES)
    share = D1.rows(scale) / 4_000_000  # the quoted figures are for one of two partitions
    for name, flags, quoted in (
        ("deep", ["--deep-iteration"], 7.05 * share),
        ("print-data", ["--deep-iteration", "--print-data-log"], 17.15 * share),
    ):
        short = command("dump-log", *flags, "--files", tiny), tool("start", kafka.dump_log(*flags, "--files", tiny))
        starts = cache(partial(best_cpus, *short))
        java = kafka.dump_log(*flags, "--files", log)
        ours = command("dump-log", *flags, "--files", log)
        yield Versus(f"dump-log {name}, d1", ours, tool("kafka-dump-log", java), 4.0, "cpu", quoted, starts)
        if name == "deep":
            verify = command("verify", root / "d1-0")
            yield Versus("verify, d1", verify, tool("kafka-dump-log deep", java), 15.0, "cpu", quoted, starts)


def walk_jobs(root: Path, scale: float, peers: Peers) -> Iterator[Versus]:
    """Batches and their CRCs without the records, which is what dump-log does by default."""
    tiny = kafka.tiny_log(root / "tiny-0", root / "d1-0" / f"{0:020}.log", FIRST_BATCH_BYTES)
    start = cache(partial(best_cpu, tool("start", kafka.dump_log("--files", tiny))))
    bytes_a_second, batches_a_second = 0.98e9, 0.31e6  # the peer's, as measured earlier
    for data, gate in ((D1, 4.0), (D4, 40.0)):
        log = root / f"{data.name}-0" / f"{0:020}.log"
        quoted = log.stat().st_size / bytes_a_second if data is D1 else data.rows(scale) / batches_a_second
        java = tool("kafka-dump-log shallow", kafka.dump_log("--files", log))
        ours = Contender("walk", partial(walk_file, log))
        yield Versus(f"walk + CRC, {data.name}", ours, java, gate, "cpu", quoted, lambda: (0.0, start()))


def best_cpu(contender: Contender) -> float:
    measure([contender], 2)
    return contender.best_cpu


def best_cpus(ours: Contender, peer: Contender) -> tuple[float, float]:
    measure([ours, peer], 2)
    return ours.best_cpu, peer.best_cpu


def drain(root: Path, topic: str) -> None:
    for _ in octavo.scan(root, topics=topic).to_reader():
        pass


def iterate(root: Path, topic: str) -> None:
    size = 0
    for record in octavo.scan(root, topics=topic):
        size += len(record.value or b"") + len(record.key or b"")


def consumer_jobs(root: Path, scale: float, peers: Peers) -> Iterator[Versus]:
    """Reading a topic, compared with clients of a broker."""
    for data, shape, gate, quoted in ((D1, "100 B", 10.0, 9.2), (D2, "1 KB", 8.0, 6.1)):
        arrow = Contender("scan to Arrow", partial(drain, root, data.name))
        yield Versus(f"topic into Arrow, {shape}, {data.name}", arrow, peers.java(data), gate, "cpu", quoted * scale)
    records = Contender("scan's records", partial(iterate, root, "d1"))
    yield Versus("records as Python objects, d1", records, peers.confluent(D1), 1.0, "cpu", 10.3 * scale)
    again = Contender("scan's records", partial(iterate, root, "d1"))
    yield Versus("the same, kafka-python", again, Contender("kafka-python", nothing), 5.0, "cpu", 56.8 * scale)
    place = root, "--topic", "d1", "--partition", 0, "--timestamp", 1_700_000_000_000 + D1.rows(scale) // 2
    yield Versus("offsets, whole command", command("lookup", *place), peers.get_offsets(), 1.0, "wall", 1.22)
    yield Versus("offsets, its limit", command("lookup", *place), Contender("limit", nothing), 1.0, "wall", 0.25)


def export_jobs(root: Path, scale: float, peers: Peers) -> Iterator[Versus]:
    """Exports to a folder with all processors, and to one file; with headers, which Spark leaves out."""
    for name, into_folder in (("a folder", True), ("one file", False)):
        ours = Contender("export", partial(export_topic, root, into_folder))
        yield Versus(f"export to Parquet, {name}, d1", ours, peers.spark_to_parquet(D1), 10.0, "cpu", 29.9 * scale)


def export_topic(root: Path, into_folder: bool) -> None:
    scan = octavo.scan(root, topics="d1")
    with tempfile.TemporaryDirectory(dir=root.parent) as target:
        request = ExportRequest(Path(target) / "out", into_folder, "parquet", scan.columns)
        export.prepare(request)
        tasks = export.plan(scan.plan(), request)
        export.commit(tasks, ThreadRunner().run(export.run, tasks))


def run(job: Versus, options: argparse.Namespace) -> None:
    """Measure a job, keep its result and print one line."""
    runs_here = job.peer.run is not nothing
    measure([job.ours, job.peer] if runs_here else [job.ours], options.rounds)
    start, peer_start = job.starts()
    ours = (job.ours.best_cpu if job.by == "cpu" else job.ours.best_wall) - start
    peer = job.quoted
    if runs_here:
        peer = (job.peer.best_cpu if job.by == "cpu" else job.peer.best_wall) - peer_start
    keep(Result(job.name, ours, job.peer.name, peer, job.by, not runs_here, options.scale))
    if options.json:
        figures = {"seconds": ours, "peer": job.peer.name, "peer_seconds": peer, "quoted": not runs_here, "by": job.by}
        print(json.dumps({"job": job.name, **figures, "ratio": peer / ours, "gate": job.gate}), flush=True)
        return
    verdict = "met" if peer / ours >= job.gate else "MISSED"
    shown = job.peer.name if runs_here else f"{job.peer.name} *"
    print(
        f"{job.name:38} {ours:8.3f} {shown:>26} {peer:8.3f} {job.by:>5} {peer / ours:7.2f} {job.gate:6.2f} {verdict}",
        flush=True,
    )


def main() -> None:
    options = parse(
        "benchmarks.reading", __doc__, scale=0.5, of="share of the full data sets (1.0: up to 1 GB each)", rounds=2
    )
    root = log_directory(options.scale, D1, D2, D4)
    print_heading(options)
    with closing(Peers(options.scale, D1, D2)) as peers:
        for group in (start_jobs, walk_jobs, dump_jobs, consumer_jobs, export_jobs):
            for job in group(root, options.scale, peers):
                if options.only in job.name:
                    run(job, options)


if __name__ == "__main__":
    main()
