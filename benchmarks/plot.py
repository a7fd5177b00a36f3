"""Draw docs/speed.svg, the plot in the README, from what `make bench` measured: `python -m benchmarks.plot`."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import log10
from pathlib import Path

from benchmarks.results import Result, kept

PICTURE = Path(__file__).parents[1] / "docs" / "speed.svg"

# The jobs that are drawn, with their labels and those of their peers.
JOBS = {
    "verify, d1": ("Verify a log", "kafka-dump-log"),
    "dump-log print-data, d1": ("Print a log's records", "kafka-dump-log"),
    "topic into Arrow, 100 B, d1": ("Read a topic into Arrow", "Kafka's Java consumer"),
    "records as Python objects, d1": ("Read a topic as Python objects", "confluent-kafka"),
    "export to Parquet, a folder, d1": ("Export a topic to Parquet", "Spark with its Kafka source"),
    "append from Arrow, 1 MB batches": ("Append an Arrow table", "confluent-kafka"),
    "send(), 1 MB batches": ("Send record by record", "confluent-kafka"),
    "compaction whole": ("Compact a log", "Kafka's log cleaner"),
    "recovery of a segment, d1": ("Recover a segment after a crash", "a broker's recovery thread"),
    "produce 16 KB, 4 x 5, CPU": ("Broker: produce requests of 16 KB", "Kafka 4.3.1"),
    "fetch 1 MB, 2 x 2, CPU": ("Broker: fetch requests of 1 MB", "Kafka 4.3.1"),
    "read d1, 7 columns": ("Spark: read a topic", "Spark's Kafka source"),
    "stream d1, availableNow": ("Spark: stream a topic", "Spark's Kafka source"),
    "sink, 116 B rows": ("Spark: write a topic", "Spark's Kafka sink"),
}
WIDTH, ROW, TOP, LEFT, RIGHT = 860, 26, 62, 400, 70
LEAST, MOST = 0.5, 100.0  # the ends of the axis: how many times as fast
TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100)
STYLE = (
    "text{font:13px sans-serif;fill:#222}.peer,.note{fill:#666;font-size:11px}.title{font-size:15px;font-weight:bold}"
)


def across(times: float) -> float:
    """Where a ratio is on the axis, which is logarithmic."""
    share = log10(min(max(times, LEAST), MOST) / LEAST) / log10(MOST / LEAST)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" class="{style}" text-anchor="{anchor}">{escape(words)}</text>'


def picture(results: dict[str, Result]) -> str:
    drawn = [(words, results[job]) for job, words in JOBS.items() if job in results]
    bottom = TOP + ROW * len(drawn)
    notes = list(footnotes([result for _, result in drawn]))
    height = bottom + 34 + 16 * len(notes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        text(12, 24, "Octavo compared with the usual tool: how many times as fast, per CPU second", "title"),
    ]
    for tick in TICKS:
        x = across(tick)
        parts.append(f'<path d="M{x} {TOP - 8}V{bottom}" stroke="{"#888" if tick == 1 else "#ddd"}"/>')
        parts.append(text(x, TOP - 14, f"{tick:g} ×", "note", "middle"))
    for number, ((job, peer), result) in enumerate(drawn):
        parts.extend(bar(TOP + ROW * number, job, peer, result))
    parts.extend(text(12, bottom + 26 + 16 * number, note, "note") for number, note in enumerate(notes))
    return "\n".join([*parts, "</svg>\n"])


def bar(y: float, job: str, peer: str, result: Result) -> Iterator[str]:
    one, end = across(1), across(result.times)
    colour = "#2a7f62" if result.times >= 1 else "#b5651d"
    mark = "*" if result.quoted else ""
    yield text(LEFT - 190, y + 16, job, anchor="end")
    yield text(LEFT - 178, y + 16, f"{peer}{mark}", "peer")
    yield f'<rect x="{min(one, end)}" y="{y + 4}" width="{abs(end - one):.1f}" height="{ROW - 10}" fill="{colour}"/>'
    yield text(max(one, end) + 6, y + 16, f"{result.times:.2g} ×" if result.times < 10 else f"{result.times:.0f} ×")


def footnotes(results: list[Result]) -> Iterator[str]:
    machines = "; ".join(sorted({result.machine for result in results}))
    dates = " to ".join(sorted({min(result.date for result in results), max(result.date for result in results)}))
    scales = " and ".join(f"{scale:g}" for scale in sorted({result.scale for result in results}))
    yield f"Measured {dates} on {machines}, with {scales} of the full data sets (1 = up to 1 GB)."
    yield "CPU seconds, those of the peer's broker included; recovery by wall time. The axis is logarithmic."
    if any(result.quoted for result in results):
        yield "* The peer did not run here: its figure is from 2 vCPU of 2.3 GHz, 2026-11-15."


def main() -> None:
    PICTURE.write_text(picture(kept()), encoding="utf-8")
    print(PICTURE.relative_to(Path.cwd()) if PICTURE.is_relative_to(Path.cwd()) else PICTURE)


if __name__ == "__main__":
    main()
