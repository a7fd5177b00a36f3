"""All checks of a directory after a kill or a power loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.attack import checks
from tests.attack.journal import Line, Promises, TopicState, flushed
from tests.attack.tally import Tally
from tests.attack.worlds import reopened


def after_kill(root: Path, lines: list[Line], *, is_crash: bool = True) -> tuple[Tally, dict[str, TopicState]]:
    """Everything acknowledged must be there, since the page cache survives. Also returns the topics found.

    What a crash leaves is not a problem for verify; what a failed disk leaves may be one, until the directory is
    reopened.
    """
    promised, topics = Promises.of(lines), {}

    def findings() -> Iterator[str]:
        yield from (f"in the worker: {error}" for error in promised.errors)
        before = checks.problems(root)
        yield from (f"verify before the reopen: {problem}" for problem in before if is_crash)
        with reopened(root) as logs:
            yield from checks.check_reopened(logs, promised, are_decided=True)
            yield from checks.check_topics(logs, promised)
            topics.update(checks.found_topics(logs))
        yield from checks.check_records(root, promised)
        yield from checks.check_transactions(root, promised, are_whole=True)
        yield from checks.check_keys(root, promised)
        yield from (f"verify after the reopen: {problem}" for problem in checks.problems(root))

    tally = Tally.of(findings())
    tally.counts["records acknowledged"] = promised.records
    return tally, topics


def after_power_loss(root: Path, lines: list[Line]) -> Tally:
    """What was acknowledged before the last flush must be there; anything later may be missing, but must be sound."""
    synced = flushed(lines)
    promised, everything = Promises.of(synced), Promises.of(lines)
    promised.trimmed = everything.trimmed
    promised.dying |= {key for kind, key, *_ in lines[len(synced) :] if kind == "dying"}

    def findings() -> Iterator[str]:
        yield from (f"in the worker: {error}" for error in everything.errors)
        checks.problems(root)  # whatever it finds, it must finish
        with reopened(root) as logs:
            yield from checks.check_reopened(logs, promised, are_decided=False)
            yield from checks.check_topics(logs, everything)
        yield from checks.check_records(root, promised)
        # A log's end may be gone while the marker in another log is not: only what was flushed is whole.
        known = {name: ("begin", count) for name, (_, count) in everything.transactions.items()}
        aborted = {name: state for name, state in everything.transactions.items() if state[0] == "abort"}
        promised.transactions = {
            **known,
            **aborted,
            **{n: s for n, s in promised.transactions.items() if s[0] == "commit"},
        }
        yield from checks.check_transactions(root, promised, are_whole=False)
        yield from checks.check_keys(root, promised)
        yield from (f"verify after the reopen: {problem}" for problem in checks.problems(root))

    tally = Tally.of(findings())
    tally.counts["records acknowledged and flushed"] = promised.records
    return tally
