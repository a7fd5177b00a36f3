"""How well a topic's batches have been compressing: what an open batch's size is estimated by."""

from __future__ import annotations

COMPRESSION_RATIO_IMPROVING_STEP = 0.005
COMPRESSION_RATIO_DETERIORATE_STEP = 0.05


def updated_ratio(estimate: float, observed: float) -> float:
    """The estimate after a batch: it falls slowly and rises fast, so that batches rarely get too large."""
    if observed > estimate:
        return max(estimate + COMPRESSION_RATIO_DETERIORATE_STEP, observed)
    if observed < estimate:
        return max(estimate - COMPRESSION_RATIO_IMPROVING_STEP, observed)
    return estimate


class CompressionRatios:
    """Estimates by topic, for one codec."""

    def __init__(self) -> None:
        self._ratios: dict[str, float] = {}

    def of(self, topic: str) -> float:
        return self._ratios.get(topic, 1.0)

    def update(self, topic: str, observed: float) -> None:
        self._ratios[topic] = updated_ratio(self.of(topic), observed)

    def reset(self, topic: str, observed: float) -> None:
        """After a batch that was too large: nothing is known to get smaller any more."""
        self._ratios[topic] = max(1.0, observed)
