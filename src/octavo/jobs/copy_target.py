"""Checks whether a directory may be copied into. Opening it recovers it, which could destroy evidence of a crash."""

from __future__ import annotations

from pathlib import Path

from octavo.errors import LogDirError, first_of
from octavo.format.names import META_PROPERTIES
from octavo.scanner.log_dirs import LogDirs
from octavo.scanner.places.directory import read_directory
from octavo.scanner.places.location import LOCAL, Location
from octavo.storage.topics.topic_store import read_topics
from octavo.system.filesystem import LocalFileSystem
from octavo.system.urls import local_path, shown_url

_MOST_NAMED = 3


def check_target(source: LogDirs, target: str, *, into_existing: bool) -> None:
    """Raise if the target is a URL or lies in the source. Unless `into_existing`, also raise if it has topics that
    octavo did not create or, without any topic of its own, belongs to a cluster that is not known to be the source's.
    """
    local = local_path(target)
    if local is None:
        raise LogDirError(f"{shown_url(target)}: cannot write to a URL; give a local directory as DST")
    path = Path(local)
    for directory in source.directories:
        place = directory.root.location
        if place.file_system == LOCAL and Path(place.path).resolve() == path.resolve():
            raise LogDirError(f"{target}: this is SRC, or the directory that holds it; choose another DST")
        if place.file_system == LOCAL and path.resolve().is_relative_to(Path(directory.place.path).resolve()):
            raise LogDirError(f"{target}: lies in SRC, {directory.place}; choose another DST")
    if into_existing or not path.is_dir():
        return
    listed = read_directory(Location(LOCAL, str(path)), lambda _: False)
    ours = read_topics(LocalFileSystem(), path)
    others = sorted(listed.topics.difference(ours))
    advice = "are SRC and DST swapped? If not, --into-existing copies into it"
    if others:
        named = first_of(others, _MOST_NAMED)
        raise LogDirError(f"{target}: has topics that octavo did not create there ({named}); {advice}")
    meta = listed.root.meta_properties()
    clusters = {found.cluster_id for directory in source.directories if (found := directory.root.meta_properties())}
    if meta is not None and meta.cluster_id is not None and not ours and meta.cluster_id not in clusters:
        whose = "another cluster" if clusters - {None} else "a cluster, and SRC does not say that it is from there"
        raise LogDirError(f"{target}: {META_PROPERTIES} belongs to {whose} ({meta.cluster_id}); {advice}")
