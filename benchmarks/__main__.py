"""Runs the benchmarks of the format layer: `python -m benchmarks [--scale S] [--rounds N] [--only TEXT]`."""

from __future__ import annotations

import json

from benchmarks.jobs import Job, compressed_jobs, encoding_jobs, reading_jobs, thread_jobs
from benchmarks.measure import Contender, measure
from benchmarks.options import parse
from octavo import kernels


def main() -> None:
    options = parse("benchmarks", __doc__, scale=0.5, of="share of the full data sets (1.0: up to 1 GB each)", rounds=3)
    if not options.json:
        state = f"compiled, CRC-32C by {kernels.crc32c_implementation()}" if kernels.COMPILED else "plain Python"
        print(f"kernels: {state}; GB/s and ratios by wall time, best of {options.rounds} rounds after a warm-up\n")
        print(f"{'job':42} {'GB/s':>6} {'M rec/s':>8} {'limit':>27} {'GB/s':>6} {'ratio':>6} {'cpu':>6} {'gate':>5}")
    for group in (reading_jobs, encoding_jobs, compressed_jobs, thread_jobs):
        for job in group(options.scale):
            if options.only in job.name:
                run(job, options.rounds, options.json)


def run(job: Job, rounds: int, as_json: bool) -> None:
    ours, limit = Contender(job.name, job.work), Contender(job.limit_name, job.limit)
    measure([limit, ours], rounds)
    ratio, cpu_ratio = limit.best_wall / ours.best_wall, limit.best_cpu / ours.best_cpu
    if as_json:
        figures = {"wall_s": ours.wall, "cpu_s": ours.cpu, "limit_wall_s": limit.wall, "limit_cpu_s": limit.cpu}
        print(json.dumps({"job": job.name, "limit": job.limit_name, "ratio": ratio, "gate": job.gate, **figures}))
        return
    speed, limit_speed = job.size / ours.best_wall / 1e9, job.size / limit.best_wall / 1e9
    verdict = "" if not job.gate else " met" if ratio >= job.gate else " MISSED"
    print(
        f"{job.name:42} {speed:6.2f} {job.records / ours.best_wall / 1e6:8.2f} {job.limit_name:>27} {limit_speed:6.2f}"
        f" {ratio:6.2f} {cpu_ratio:6.2f} {job.gate:5.2f}{verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
