"""What of a checkpoint is thrown away, and when.

The rule: what a commit names stays for as long as it is one of the last two, and for `KEPT_SECONDS` after the next
one, so that whoever began to read or to copy the folder at that commit finds all of it. The same goes for statements
that are over, and for plans. Commit records stay for the last `RETAINED_BATCHES` batches, and with them what the
batches gave out. What died unfinished, of which no commit knows, goes by a sweep at every start and every `SWEPT_EVERY`
batches. Time is counted while an engine runs, and by the clock from one run to the next: a clock that goes back makes
things stay for at most `KEPT_SECONDS` more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from windrow.clock import monotonic
from windrow.errors import CheckpointError
from windrow.runtime.shards.storage.files.folder import Folder
from windrow.runtime.shards.storage.files.local_files import HIDDEN
from windrow.runtime.shards.storage.manifests import read_chain
from windrow.runtime.shards.storage.records import KINDS, RESTORE, Records

if TYPE_CHECKING:
    from windrow.runtime.shards.storage.checkpoint import Commit

KEPT_SECONDS = 60.0
RETAINED_BATCHES = 1_000
SWEPT_EVERY = 100  # batches
_SECOND = 1_000_000

Needs = Callable[[int], bool]  # whether somebody has still to get what a batch gave out


class _Superseded(NamedTuple):
    """What a commit has made superfluous, once the time has come and another commit has been made."""

    by: int
    due: float
    garbage: Sequence[str]
    statements: Sequence[int]
    plans_before: int


class Collection:
    def __init__(
        self,
        folder: Folder,
        records: Records,
        check: Callable[[], None],
        commit_of: Callable[[int], Commit | None],
    ) -> None:
        """`check` makes sure that the checkpoint is still ours: nothing is deleted after it has changed hands."""
        self._commit_of = commit_of
        self._folder = folder
        self._records = records
        self._check = check
        self._waiting: deque[_Superseded] = deque()
        self._over: list[int] = []  # a statement that goes when it is not the newest any more

    def resume(self, last: Commit, needs: Needs, now: int) -> None:
        """Go on after the last commit: sweep, and collect when it is due what those before it have left."""
        for commit in self._not_collected(last):
            age = (now - commit.committed) / _SECOND
            left = min(max(KEPT_SECONDS - age, 0.0), KEPT_SECONDS)
            self._add(commit, (), monotonic() + left)
        self._sweep(last, needs)

    def _not_collected(self, last: Commit) -> list[Commit]:
        """The last commits, back to the one before which nothing is left."""
        there = {f"manifests/{name}" for name in self._folder.names("manifests")}
        found: list[Commit] = []
        commit: Commit | None = last
        while commit is not None:
            found.append(commit)
            before = self._commit_of(commit.number - 1)
            is_there = before is not None and any(version.manifest in there for version in before.versions.values())
            commit = before if is_there else None
        return found[::-1]

    def collect(self, record: Commit, statements: Sequence[int], needs: Needs) -> None:
        """After a commit: throw away what is due; `statements` are those that the batch has put an end to."""
        self._check()
        self._add(record, statements, monotonic() + KEPT_SECONDS)
        self._records.delete("batches", record.number)
        while self._waiting and self._waiting[0].by < record.number and self._waiting[0].due <= monotonic():
            self._throw_away(self._waiting.popleft())
        self._forget(record.number - RETAINED_BATCHES, needs)
        if record.number % SWEPT_EVERY == 0:
            self._sweep(record, needs)

    def _forget(self, number: int, needs: Needs) -> None:
        """A batch that has happened long ago, with what it gave out."""
        old = None if needs(number) else self._commit_of(number)
        if old is not None:
            self._delete(given_out(old))
            self._records.delete("commits", number)

    def _add(self, record: Commit, statements: Sequence[int], due: float) -> None:
        self._waiting.append(_Superseded(record.number, due, record.garbage, statements, record.plan_version))

    def _throw_away(self, superseded: _Superseded) -> None:
        for name in superseded.garbage:
            self._folder.delete(name)
        newest = self._records.newest("statements")
        over = [*self._over, *superseded.statements]
        for number in over:
            if number != newest:  # by it a log that has lost its end is found out
                self._records.delete("statements", number)
        self._over = [number for number in over if number == newest]
        for version in self._records.numbers("plans"):
            if version < superseded.plans_before:
                self._records.delete("plans", version)

    def _sweep(self, record: Commit, needs: Needs) -> None:
        """Throw away what was left behind by tasks and drivers that died, of which no commit knows.

        The names are listed first: whatever comes later may be somebody else's.
        """
        listed = {under: self._folder.names(under, hidden=True) for under in ("pieces", "manifests")}
        given = {under: self._folder.names(under, hidden=True) for under in ("changes", "side_outputs")}
        used = self._used(record, listed)
        self._check()
        for under, names in listed.items():
            self._delete(f"{under}/{name}" for name in names if f"{under}/{name}" not in used)
        oldest = record.number - RETAINED_BATCHES + 1
        for number in self._records.numbers("commits"):
            if number < oldest:
                self._forget(number, needs)
        for under, names in given.items():
            numbered = ((int(name[:9]), f"{under}/{name}") for name in names)
            self._delete(name for number, name in numbered if number < oldest and not needs(number))

    def _used(self, record: Commit, listed: dict[str, list[str]]) -> set[str]:
        """What the last commit names, which has to be there, and what is still waiting to be thrown away."""
        there = {f"{under}/{name}" for under, names in listed.items() for name in names}
        used = {name for superseded in self._waiting for name in superseded.garbage}
        for version in record.versions.values():
            manifest, chain = read_chain(self._folder, version)
            if missing := sorted(manifest.bundles.keys() - there):
                raise CheckpointError(f"{missing[0]} of the checkpoint is missing", RESTORE)
            used |= {*manifest.bundles, *(file.name for file in chain)}
        return used

    def sweep_hidden(self) -> None:
        """Before anything runs: files that somebody was about to write when it died."""
        for under in (*KINDS, "aggregates", "beats", "fences", "leases", ""):
            names = self._folder.names(under, hidden=True)
            self._delete(f"{under}/{name}".lstrip("/") for name in names if name.endswith(HIDDEN))

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._folder.delete(name)


def given_out(record: Commit) -> set[str]:
    """The bundles with what a batch gave out."""
    addresses = [address for each in record.emitted.values() for address in each]
    return {address.bundle for address in [*addresses, *record.side_outputs.values()]}
