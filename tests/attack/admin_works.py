"""The works that shorten, create, change, delete and flush."""

from __future__ import annotations

from collections.abc import Callable

from tests.attack.producing import Producing
from tests.attack.scene import Scene


class Trim(Producing):
    """A topic that retention and delete_records shorten."""

    def step(self) -> None:
        scene, draw, producer = self._scene, self._scene.draw, self.producer()
        sent = [(identity := scene.name(), producer.send("retained", f"{identity}:{'z' * 150}")) for _ in range(8)]
        producer.flush()
        self.say_sent("retained", sent)
        if draw.random() < 0.1:
            log = scene.logs.log("retained", 0)
            offset = max(log.log_start_offset, log.log_end_offset - 20)
            scene.journal.say("trim", offset)
            log.delete_records(offset)


class Administer:
    """Topics that are created, grown, altered and deleted."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def step(self) -> None:
        logs, draw = self._scene.logs, self._scene.draw
        topic, size = f"admin{draw.randint(0, 4)}", draw.randint(1000, 9999)
        partitions, chance = len(logs.topics.get(topic, ())), draw.random()
        if not partitions:
            count = draw.randint(1, 3)
            configs = {"segment.bytes": size, "segment.index.bytes": 2048}
            self._change(topic, [count, size], lambda: logs.create_topic(topic, count, configs))
        elif chance < 0.5:
            self._change(topic, None, lambda: logs.delete_topic(topic))
        elif chance < 0.75:
            self._change(topic, [partitions, size], lambda: logs.alter_configs(topic, {"segment.bytes": size}))
        else:
            wanted = [partitions + 1, logs.config(topic).segment_bytes]
            self._change(topic, wanted, lambda: logs.create_partitions(topic, partitions + 1))

    def _change(self, topic: str, wanted: list[int] | None, change: Callable[[], object]) -> None:
        self._scene.journal.say("wish", topic, wanted)
        change()
        self._scene.journal.say("done", topic, wanted)


class Flush:
    """Syncs, checkpoints, and occasionally a round of retention."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def step(self) -> None:
        scene = self._scene
        number = scene.name()
        scene.journal.say("flushing", number)
        scene.logs.flush()
        scene.journal.say("flushed", number)
        if scene.draw.random() < 0.3:
            scene.logs.checkpoint()
        if scene.draw.random() < 0.2:
            scene.logs.retain()
