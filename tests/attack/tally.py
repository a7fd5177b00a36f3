"""The outcome of an attack: counts, and findings."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts by name; a finding is a sentence about something that must not happen."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, findings: Iterable[str]) -> Tally:
        """Take findings from checks; an error that ends the checks is a finding, too."""
        tally = cls()
        try:
            tally.findings.extend(findings)
        except Exception:
            tally.findings.append(traceback.format_exc())
        return tally

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.findings += other.findings
