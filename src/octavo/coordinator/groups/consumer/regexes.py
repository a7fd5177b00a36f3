"""Subscriptions by regular expression: which topics the expressions of a group match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from octavo.coordinator.errors import RequestError
from octavo.coordinator.groups.consumer import records
from octavo.coordinator.groups.consumer.group import Member, ResolvedRegex
from octavo.coordinator.groups.consumer.transition import Transition
from octavo.coordinator.patterns import BadPatternError, matching
from octavo.format.protocol.error_codes import ErrorCode

_MIN_REFRESH_INTERVAL_MS = 10_000
# The version of Kafka's metadata for which an expression was resolved. A broker that reads 0 resolves it again.
_UNKNOWN_VERSION = 0


class RegexChange(Enum):
    """What a heartbeat does to its member's expression."""

    NONE = 0
    # Changed to one that others have too, but that is not resolved yet; or between no expression and an empty one.
    UNRESOLVED = 1
    NEW = 2  # changed to one that nobody else has
    RESOLVED = 3  # changed to one whose topics are known, or to none


def note_regex(change: Transition, known: Member, member: Member) -> RegexChange:
    """Check a new expression, and forget the old one if nobody uses it any more."""
    if known.regex == member.regex:
        return RegexChange.NONE
    subscribed = change.group.subscribed_regexes
    if known.regex and known.regex not in subscribed:
        change.write(records.regex_write(change.group.group_id, known.regex, None))
    if not member.regex:
        return RegexChange.RESOLVED if known.regex else RegexChange.UNRESOLVED
    if subscribed[member.regex] == 1:
        _check(member.regex)
        return RegexChange.NEW
    return RegexChange.RESOLVED if member.regex in change.group.regexes else RegexChange.UNRESOLVED


def _check(regex: str) -> None:
    try:
        matching([""], regex)
    except BadPatternError as error:
        raise RequestError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from None


def refresh_regexes(change: Transition, may_describe: Callable[[str], bool], *, is_new: bool) -> None:
    """Resolve all expressions of the group if they are due, together, so that there is only one new epoch.

    The heartbeat that triggers this does not see the result, because Kafka resolves expressions in the background.
    """
    subscribed, resolved = change.group.subscribed_regexes, change.before.regexes
    if not subscribed:
        return
    time_ms, config = change.view.now.time_ms, change.view.config
    last_ms = next((found.time_ms for found in resolved.values()), None)
    if last_ms is not None:
        if time_ms <= last_ms + _MIN_REFRESH_INTERVAL_MS:
            return
        is_old = time_ms > last_ms + config.group_consumer_regex_refresh_interval_ms
        if not is_new and not is_old and len(subscribed) == len(resolved) and not _has_new_topics(change):
            return
    _resolve(change, may_describe)


def _has_new_topics(change: Transition) -> bool:
    known, topics = change.group.resolved_topics, change.view.topics
    return known is not topics and not topics.by_name.keys() <= known.by_name.keys()


def _resolve(change: Transition, may_describe: Callable[[str], bool]) -> None:
    group, topics, time_ms = change.group, change.view.topics, change.view.now.time_ms
    names, is_changed = list(topics.by_name), False
    for regex in group.subscribed_regexes:
        found = frozenset(name for name in matching(names, regex) if may_describe(name))
        known = group.regexes.get(regex)
        is_changed = is_changed or found != (frozenset() if known is None else known.topics)
        change.write(records.regex_write(group.group_id, regex, ResolvedRegex(found, _UNKNOWN_VERSION, time_ms)))
    metadata_hash = topics.hash(change.group.subscribed_topics)
    if is_changed or metadata_hash != group.metadata_hash:
        change.bump_epoch(metadata_hash)
    change.group = replace(change.group, resolved_topics=topics)
