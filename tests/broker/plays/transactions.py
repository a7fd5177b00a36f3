"""Events of transactions: two producers that share a transactional id, and administrators."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from octavo.format.batches.batch import Origin
from octavo.format.messages.schema import Row
from octavo.format.protocol import apis
from tests.broker.plays import classic
from tests.broker.requests import batch
from tests.broker.stage import Ask, Memory

PRODUCERS = ("p", "q")
MASKED = {"throttleTimeMs", "errorMessage", "transactionStartTimeMs", "lastTimestamp", "logAppendTimeMs"}


def shown(memory: Memory, value: Any) -> Any:
    """An answer with numbers in place of producer ids: the first id seen is 0, the next one 1, and so on."""
    if isinstance(value, dict):
        return {name: _part(memory, name, part) for name, part in value.items() if name not in MASKED}
    if isinstance(value, list):
        return sorted((shown(memory, part) for part in value), key=repr)
    return "the id" if value == memory["transactional_id"] else value


def _part(memory: Memory, name: str, part: Any) -> Any:
    if name == "producerId" and part >= 0:
        known = memory.setdefault("producer ids", [])
        if part not in known:
            known.append(part)
        return known.index(part)
    if name in ("baseOffset", "logStartOffset", "currentTxnStartOffset"):
        return part >= 0
    return shown(memory, part)


def _identity(actor: str, memory: Memory, shift: int = 0) -> Row:
    producer_id, epoch = memory.get(f"{actor}.identity", (12345, 0))
    return {"transactionalId": memory["transactional_id"], "producerId": producer_id, "producerEpoch": epoch + shift}


def _learn(actor: str, memory: Memory, answer: Row) -> None:
    if not answer["errorCode"] and answer.get("producerId", -1) >= 0:
        memory[f"{actor}.identity"] = answer["producerId"], answer["producerEpoch"]
        memory[f"{actor}.sequences"] = {}


@st.composite
def inits(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(PRODUCERS)), draw(st.sampled_from(list(apis.INIT_PRODUCER_ID.versions)))
    is_again, timeout = draw(st.booleans()), draw(st.sampled_from([60_000, 60_000, 0, 10_000_000]))

    def body(memory: Memory) -> Row:
        identity = _identity(actor, memory) if is_again and version >= 3 and f"{actor}.identity" in memory else {}
        return {**identity, "transactionalId": memory["transactional_id"], "transactionTimeoutMs": timeout}

    return Ask(actor, apis.INIT_PRODUCER_ID, version, body, lambda memory, answer: _learn(actor, memory, answer))


@st.composite
def additions(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(PRODUCERS)), draw(st.integers(0, 3))
    topics = draw(st.sampled_from([[("t", [0])], [("t", [0, 1])], [("t", [0]), ("nowhere", [0])]]))
    shift = draw(st.sampled_from([0, 0, 0, 1, -1]))

    def body(memory: Memory) -> Row:
        identity = _identity(actor, memory, shift)
        named = {f"v3AndBelow{name[0].upper()}{name[1:]}": value for name, value in identity.items()}
        return {**named, "v3AndBelowTopics": [{"name": name, "partitions": numbers} for name, numbers in topics]}

    return Ask(actor, apis.ADD_PARTITIONS_TO_TXN, version, body)


@st.composite
def produces(draw: st.DrawFn) -> Ask:
    actor, version, partition = draw(st.sampled_from(PRODUCERS)), draw(st.integers(9, 12)), draw(st.integers(0, 1))

    def body(memory: Memory) -> Row:
        identity = _identity(actor, memory)
        sequences = memory.setdefault(f"{actor}.sequences", {})
        origin = Origin(
            producer_id=identity["producerId"],
            producer_epoch=identity["producerEpoch"],
            base_sequence=sequences.get(partition, 0),
            is_transactional=True,
        )
        records = batch("x", origin=origin)
        data = {"name": "t", "partitionData": [{"index": partition, "records": records}]}
        return {"transactionalId": identity["transactionalId"], "acks": -1, "timeoutMs": 5000, "topicData": [data]}

    def learn(memory: Memory, answer: Row) -> None:
        if not answer["responses"][0]["partitionResponses"][0]["errorCode"]:
            sequences = memory.setdefault(f"{actor}.sequences", {})
            sequences[partition] = sequences.get(partition, 0) + 1

    return Ask(actor, apis.PRODUCE, version, body, learn)


@st.composite
def ends(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(PRODUCERS)), draw(st.sampled_from(list(apis.END_TXN.versions)))
    is_commit, shift = draw(st.booleans()), draw(st.sampled_from([0, 0, 0, 0, 1, -1]))

    def body(memory: Memory) -> Row:
        return {**_identity(actor, memory, shift), "committed": is_commit}

    return Ask(actor, apis.END_TXN, version, body, lambda memory, answer: _learn(actor, memory, answer))


@st.composite
def offsets(draw: st.DrawFn) -> Ask:
    actor, version = draw(st.sampled_from(PRODUCERS)), draw(st.integers(0, 4))
    adds = draw(st.booleans())
    if adds:
        return Ask(
            actor,
            apis.ADD_OFFSETS_TO_TXN,
            version,
            lambda memory: {**_identity(actor, memory), "groupId": memory["group"]},
        )

    def body(memory: Memory) -> Row:
        row = {"partitionIndex": 0, "committedOffset": 7, "committedMetadata": ""}
        topics = [{"name": "t", "partitions": [row]}]
        return {**_identity(actor, memory), "groupId": memory["group"], "topics": topics}

    return Ask(actor, apis.TXN_OFFSET_COMMIT, version, body)


def settled() -> Ask:
    """Wait until the markers of a decided transaction are written: a real broker writes them after its answer."""

    def is_deciding(answer: Row) -> bool:
        return str(answer["transactionStates"][0]["transactionState"]).startswith("Prepare")

    return Ask(
        classic.ADMIN, apis.DESCRIBE_TRANSACTIONS, 0,
        lambda memory: {"transactionalIds": [memory["transactional_id"]]}, again=is_deciding,
    )  # fmt: skip


@st.composite
def looks(draw: st.DrawFn) -> Ask:
    return draw(classic.fetches())


def events() -> SearchStrategy[Ask]:
    return st.one_of(inits(), additions(), produces(), produces(), ends(), ends(), offsets(), looks())
