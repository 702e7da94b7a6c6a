"""Feeds that are closed: nothing more is kept for them, because too much waits, or because their query is set aside.

What a sink does not get is made up for when it has had what was kept: by the difference between the answer as it was
when the feed was closed and the present one, which is written down before it is given. Late and rejected rows have no
answer: the feed goes on with what the log still has, and what is missing in between is counted.
"""

from __future__ import annotations

from windrow.clock import Clock
from windrow.runtime.outputs.differences import AnswerAt, difference
from windrow.runtime.shards.feeding.log_feed import LogFeed, SideRows
from windrow.runtime.shards.feeding.stored_answers import HAD, StoredAnswers
from windrow.runtime.shards.storage.checkpoint import Checkpoint, Commit
from windrow.runtime.shards.storage.sink_records import Position


def can_reopen(feed: LogFeed, last: Commit) -> bool:
    """Whether it has had what was kept, and there is a batch that it did not get, whose number it can go on with."""
    if feed.position.kept_until is None or feed.feeder.is_busy:
        return False
    is_aside = feed.query is not None and feed.query.aside is not None
    return feed.is_through(last.number) and last.number > feed.position.had and not is_aside


class ClosedFeeds:
    def __init__(self, checkpoint: Checkpoint, answers: StoredAnswers, clock: Clock) -> None:
        self._checkpoint, self._answers, self._clock = checkpoint, answers, clock

    def close(self, feed: LogFeed, answer: AnswerAt | None, last: Commit | None) -> None:
        """Keep nothing more for a receiver but the answer as it is now, if there is one."""
        if answer is not None:
            self._answers.keep(feed.key, HAD, answer)
            feed.has_stored = True
        feed.position = feed.position._replace(kept_until=-1 if last is None else last.number)
        if feed.side is not None and last is not None:
            since = feed.position.since if feed.position.missed else self._clock.now()
            feed.position = feed.position._replace(rows=feed.side.rows_until(last), since=since)

    def reopen(self, feed: LogFeed, last: Commit) -> None:
        """Keep what comes, and have a receiver get what makes up for what it did not get."""
        if feed.side is not None:
            feed.position = self._after_the_gap(feed.position, feed.side)
            return
        assert feed.query is not None and feed.form is not None, feed.key
        columns = feed.query.plan.schema
        had = self._answers.read(feed.key, HAD, columns.types)
        table = difference(had, feed.query.answer_now(), feed.form, columns, feed.query.slide)
        if table.num_rows:
            self._answers.keep_difference(feed.key, table)
        feed.position = Position(last.number, owes=last.number if table.num_rows else None)

    def _after_the_gap(self, position: Position, side: SideRows) -> Position:
        """The next batch that the log has."""
        record = next(self._checkpoint.commits(position.had))
        missed = side.rows_before(record) - position.rows
        return Position(record.number - 1, missed=position.missed + missed, since=position.since)
