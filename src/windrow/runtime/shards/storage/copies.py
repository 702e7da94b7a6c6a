"""Copies of a checkpoint: made by `Checkpoint.copy`, or by somebody who copied the folder while an engine wrote to it.

The first has one commit and all that it names. The second has files of different moments: it goes back to its last
commit of which everything is there, and forgets what is later. That is right for a copy only, because nobody has heard
of what the later batches came to; in the checkpoint itself something that is missing is damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.collection import given_out
from windrow.runtime.shards.storage.file_lists import read_list
from windrow.runtime.shards.storage.files.file_names import file_name
from windrow.runtime.shards.storage.files.folder import Folder, place_of
from windrow.runtime.shards.storage.manifests import read_chain, read_manifest
from windrow.runtime.shards.storage.records import KINDS, RESTORE, Records
from windrow.runtime.shards.storage.source_offsets import batches_begun, files_until, rewind

if TYPE_CHECKING:
    from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit

_TRIES = 10  # a copy that takes longer than old state lives begins again with a newer commit
_BY_COMMITS = ("pieces", "manifests", "changes", "side_outputs")
_OF_THE_OWNER = ("leases", "beats", "fences")


def settle(checkpoint: Checkpoint, records: Records) -> None:
    """Go back to the last commit that is complete."""
    folder, spark = checkpoint.folder, Folder(checkpoint.spark_folder)
    there = {f"{under}/{name}" for under in _BY_COMMITS for name in folder.names(under)}
    stated = max(records.numbers("statements"), default=0)
    commits, missing = _with_their_log(checkpoint, there)
    while commits:
        last = commits[-1]
        try:
            gone = _missing(folder, records, last, there)
        except CheckpointError as error:  # half of a manifest
            gone = error.message
        if last.statements > stated:
            gone = f"statements/{last.statements:09}"
        for name, batch in _delivered(last).items():
            if (begun := batches_begun(spark.below(name))) and batch > begun[-1]:
                gone = f"spark/{name}/offsets/{batch}"
        if gone is None:
            break
        missing = missing or gone
        commits.pop()
    if not commits and missing:
        raise CheckpointError(
            f"this copy of a checkpoint cannot be used, it has not got {missing}",
            "it was copied while an engine wrote to it, and that took too long: write windrow checkpoint copy FROM TO",
        )
    _forget(folder, records, commits)
    delivered = _delivered(commits[-1]) if commits else {}
    for name in spark.folders():
        rewind(spark.below(name), delivered.get(name, -1))


def check_state(checkpoint: Checkpoint, records: Records) -> None:
    """That all the statements of a checkpoint, and what its last commit names, are there and as they were written."""
    for number in records.numbers("statements"):
        records.read("statements", number)
    folder, last = checkpoint.folder, checkpoint.last_commit()
    there = {f"{under}/{name}" for under in ("pieces", "manifests") for name in folder.names(under)}
    missing = None if last is None else _missing(folder, records, last, there)
    if missing is not None:
        raise CheckpointError(f"{missing} of the checkpoint is missing", RESTORE)


def _delivered(commit: Commit) -> dict[str, int]:
    """How far Spark has come with the streams that it brings, by their folders."""
    return {file_name(stream): batch for stream, batch in commit.positions.delivered.items()}


def _with_their_log(checkpoint: Checkpoint, there: set[str]) -> tuple[list[Commit], str]:
    """The commits that can be read, and whose output is there; and the first file that is missing.

    The oldest may have gone while their records were still being copied.
    """
    found: list[Commit] = []
    for number in checkpoint.batches():
        try:
            commit = next(checkpoint.commits(number - 1))
        except CheckpointError as error:  # half of a record
            return found, error.message
        if gone := sorted(given_out(commit) - there):
            if any(given_out(one) for one in found) or checkpoint.batches()[0] == 0:
                return found, gone[0]
            found.clear()
            continue
        found.append(commit)
    return found, ""


def _missing(folder: Folder, records: Records, commit: Commit, there: set[str]) -> str | None:
    """The first part of its state that a commit names and that is not there."""
    if not records.has("plans", commit.plan_version):
        return f"plans/{commit.plan_version:09}"
    for name in commit.positions.manifests.values():
        for named in (name, *(one.name for one in read_list(folder, name)[0])) if folder.exists(name) else (name,):
            if not folder.exists(named):
                return named
    for stream, following in commit.positions.following.items():
        under = f"pushed/{file_name(stream)}"
        unread = [number for name in folder.names(under) if (number := int(name)) >= following]
        if unread and min(unread) > following:
            return f"{under}/{following:012}"
    for version in commit.versions.values():
        if version.manifest not in there:
            return version.manifest
        if gone := sorted(read_manifest(folder, version).bundles.keys() - there):
            return gone[0]
    return None


def _forget(folder: Folder, records: Records, commits: Sequence[Commit]) -> None:
    """All but these commits, and batches that were begun after them."""
    used = {commit.number for commit in commits}
    after = commits[-1].number + 1 if commits else 0
    forgotten = [records.file("commits", number) for number in records.numbers("commits") if number not in used]
    forgotten += [records.file("batches", number) for number in records.numbers("batches") if number != after]
    for name in forgotten:
        folder.delete(name)


def copy(checkpoint: Checkpoint, records: Records, to: str) -> int:
    """To an empty place, which is a checkpoint when the last file, `format`, is there; the last batch that is in it."""
    target = Folder(place_of(to))
    if next(target.every(), None) is not None:
        raise CheckpointError(f"{to} is not empty", "name a folder that is not there yet")
    target.make()
    for _ in range(_TRIES):
        try:
            return _copy_all(checkpoint, records, target)
        except FileNotFoundError:
            for name in list(target.every()):
                target.delete(name)
    hint = "stop the engine, or copy to a faster disk"
    raise CheckpointError("the checkpoint changes faster than it can be copied", hint)


def _copy_all(checkpoint: Checkpoint, records: Records, target: Folder) -> int:
    place = Folder(checkpoint.place)
    last = checkpoint.last_commit()
    delivered = {} if last is None else _delivered(last)
    for name, named in _files(checkpoint, records, last):
        target.write(f"windrow/{named}", checkpoint.folder.read(name))
    for stream in place.folders("spark"):
        for name in files_until(place.below(f"spark/{stream}"), delivered.get(stream, -1)):
            target.write(f"spark/{stream}/{name}", place.read(f"spark/{stream}/{name}"))
    for name in place.every():
        if not name.startswith(("windrow/", "spark/")):
            target.write(name, place.read(name))
    target.write("windrow/format", checkpoint.folder.read("format"))
    return -1 if last is None else last.number


def _files(checkpoint: Checkpoint, records: Records, last: Commit | None) -> Iterator[tuple[str, str]]:
    """What belongs to a copy, by its name and that in the copy: of records those that count, as of the epoch 0."""
    folder, number = checkpoint.folder, -1 if last is None else last.number
    wanted: dict[str, Callable[[int], bool]] = {kind: lambda _: True for kind in KINDS}
    wanted |= {"batches": lambda _: False, "commits": lambda n: n <= number}
    for kind in KINDS:
        numbers = [each for each in records.numbers(kind) if wanted[kind](each)]
        yield from ((records.file(kind, each), f"{kind}/{each:09}-{0:06}") for each in numbers)
    named = {name for commit in checkpoint.commits() if commit.number <= number for name in given_out(commit)}
    if last is not None:
        for version in last.versions.values():
            manifest, chain = read_chain(folder, version)
            named |= {*manifest.bundles, *(file.name for file in chain)}
    yield from ((name, name) for name in sorted(named))
    yield from ((name, name) for name in folder.names("") if name != "format")
    apart = {*KINDS, *_BY_COMMITS, *_OF_THE_OWNER}
    for under in folder.folders():
        if under not in apart:
            yield from ((name, name) for name in folder.every(under))
