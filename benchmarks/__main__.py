"""Runs the benchmarks: `python -m benchmarks [--scale S] [--rounds N] [--only TEXT]`."""

from __future__ import annotations

import argparse
import json

from benchmarks.jobs import Job, compressed_jobs, encoding_jobs, reading_jobs, thread_jobs
from benchmarks.measure import Contender, measure
from octavo import kernels


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    words.add_argument("--scale", type=float, default=0.5, help="share of the full data sets (1.0: up to 1 GB each)")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--only", default="", help="jobs whose name contains this")
    words.add_argument("--json", action="store_true", help="one object per line")
    options = words.parse_args()
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
