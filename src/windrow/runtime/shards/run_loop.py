"""The loop over micro-batches of an engine: in the background, or until all that is there has been taken.

One batch runs at a time, whoever asks for it. A batch runs when there is something to read, something that the host has
delivered, a statement, or time that moves on; otherwise nothing does, and the loop looks again after a moment.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from windrow.catalog import StreamEntry
from windrow.clock import monotonic
from windrow.runtime.outputs.feeder import is_feeding
from windrow.runtime.readers import Streams
from windrow.runtime.shards.batch_loop import Job
from windrow.runtime.shards.driver import Driver
from windrow.runtime.shards.sources.deliveries import Deliveries, Delivery
from windrow.runtime.streams.holding import HoldingStream
from windrow.runtime.streams.stream_reports import EngineProgress
from windrow.sources.folder_reader import LONG_PATIENCE, SHORT_PATIENCE
from windrow.units import FOREVER

_BETWEEN_LOOKS = 0.1  # seconds
_POLL_INTERVAL = 0.25
LOG = logging.getLogger("windrow")
_PATIENCE = 3.0  # seconds that a batch has to come to its end when the run is stopped


class SourceErrors(Exception):
    """A batch could not run because of what the host has brought for some streams: with the reasons."""

    def __init__(self, errors: Mapping[str, BaseException]) -> None:
        super().__init__(", ".join(errors))
        self.errors = errors


class HostSources(Protocol):
    """Sources that the host brings: it delivers their micro-batches by itself."""

    def follow(self) -> None:
        """Have those of the streams that there are now be brought, until `stop`."""

    def bring_available(self) -> None:
        """Have what is there now be brought, and no more."""

    def poll(self) -> None:
        """Look after them; called every now and then."""

    def is_bringing(self, stream: str) -> bool:
        """Whether a stream is among them and can be reached."""

    def own_thread(self) -> None:
        """This thread runs jobs from now on that `cancel` may end."""

    def cancel(self) -> None:
        """End the job that is under way in such a thread; its batch runs again."""

    def bringing(self) -> Callable[[Collection[str]], bool]:
        """Asked from now on: whether something that is there at this moment has still to be brought.

        But for streams that are paused: what they have delivered is not taken.
        """

    def stop(self) -> None: ...


class RunLoop:
    def __init__(
        self,
        driver: Driver,
        deliveries: Deliveries,
        brought: HostSources,
        job: Callable[[Mapping[str, Delivery]], Job],
    ) -> None:
        self._driver, self._deliveries, self._brought, self._job = driver, deliveries, brought, job
        self._taking = driver.publishing.deciding
        self._stepping = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._is_bounded = False  # whether the run is over when all that is there has been read
        self._is_settling = False  # whether all is read, and the loop waits for receivers
        self._idle_passes = self._batches_run = 0

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    def start(self, bounded: bool = False) -> None:
        self.check()
        if self._thread is not None:
            return
        self._retry_sinks()  # what they have not had of earlier runs, also when all has been read
        if self._driver.batches.has_ended:
            self._driver.publishing.settle()
            return
        self._stopping.clear()
        self._over.clear()
        self._error, self._is_bounded = None, bounded
        self._brought.follow()
        self._thread = threading.Thread(target=self._go_on, name="windrow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._deliveries.wake()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE)
            while thread.is_alive():
                self._brought.cancel()
                thread.join(_BETWEEN_LOOKS)
        self._brought.stop()

    def check(self) -> None:
        """Raise what ended the background run; not in a receiver, whose failure it is not."""
        if self._thread is not None and self._over.is_set() and not is_feeding():
            error = self._error
            self.stop()
            if error is not None:
                raise error

    def wait(self, seconds: float | None) -> bool:
        """Until the background run is over, or a time; whether it is."""
        if self._thread is not None and not self._over.wait(seconds):
            return False
        self.check()
        return True

    def run(self, poll: Callable[[], object] | None, follow: bool) -> None:
        self.start(bounded=not follow)
        try:
            while not self.wait(_POLL_INTERVAL):
                if poll is not None:
                    poll()
        finally:
            self.stop()

    def step(self) -> None:
        """Take everything that is there; of a stream without end, one micro-batch."""
        self.check()
        raised = self._driver.publishing.times_raised
        with self._stepping:  # not while receivers are waited for: one of them may step too
            is_beside = self._thread is not None
            if is_beside:
                self._wait_until_taken()
            else:
                self._retry_sinks()
                if not self._driver.batches.has_ended:
                    self._take_all()
        if not is_beside:
            self._driver.publishing.settle()
            return
        self._driver.publishing.wait()
        if self._driver.publishing.times_raised != raised:
            self._wait_until_taken()  # the loop comes by, and ends with what was raised
        self.check()

    def wake(self) -> None:
        """Something has come: a statement, rows, an end."""
        self._deliveries.wake()

    def _retry_sinks(self) -> None:
        """Between batches: the plan is that of the last one."""
        with self._taking:
            self._driver.publishing.retry()

    def _take_all(self) -> None:
        readers = self._driver.readers
        self._brought.bring_available()
        has_more = self._brought.bringing()
        try:
            self._look()
            began = monotonic()
            while True:
                if self.take():
                    readers.resting = {name for name in _streams(self._driver) if readers.is_endless(name)}
                elif has_more(self._paused()):
                    self._brought.poll()
                    self._deliveries.wait(_BETWEEN_LOOKS)
                elif not self._settled(began):
                    break
            self._brought.poll()  # those that have failed meanwhile are told
            self._finish_if_ended()
        finally:
            readers.resting = set()
            self._brought.stop()

    def _settled(self, began: float) -> bool:
        """Whether it was worth waiting: for a file that was there in the beginning and nobody writes to any more."""
        wait = self._driver.readers.settles_in(began)
        if wait is None:
            return False
        self._deliveries.wait(wait)
        self._look()
        return True

    def _wait_until_taken(self) -> None:
        """The loop in the background has to come by twice: it may be in the middle of a batch already."""
        self._look()
        began, readers, has_more = monotonic(), self._driver.readers, self._brought.bringing()
        is_endless = any(map(readers.is_endless, _streams(self._driver)))
        passes, enough = self._idle_passes + 2, self._batches_run + 2
        while not (self._over.is_set() or (self._is_settling and is_feeding())):
            is_idle = self._idle_passes >= passes and readers.settles_in(began) is None
            is_enough = self._batches_run >= enough and (is_endless or not readers.has_unread())
            if (is_idle or is_enough) and not has_more(self._paused()):
                return
            self.wake()
            self._over.wait(_BETWEEN_LOOKS / 10)

    def _go_on(self) -> None:
        try:
            self._brought.own_thread()
            self._look()  # also when somebody has just looked: what is there now is to be read
            while not self._stopping.is_set():
                self._brought.poll()
                self._look(seldom=True)
                if self.take():
                    continue
                self._idle_passes += 1
                if self._is_through():
                    self._finish_if_ended()
                    self._is_settling = True
                    self._driver.publishing.settle(self._stopping.is_set)
                    break
                self._deliveries.wait(_BETWEEN_LOOKS)
        except BaseException as error:
            if not self._stopping.is_set():
                self._error = error
                self._deliveries.refuse(self._deliveries.waiting(), error)
        self._over.set()
        self._is_settling = False

    def _look(self, seldom: bool = False) -> None:
        is_to_end = self._is_bounded or self._stepping.locked()
        with self._driver.lock:
            self._driver.readers.be_patient(SHORT_PATIENCE if is_to_end else LONG_PATIENCE)
            self._driver.readers.look(seldom)

    def take(self) -> bool:
        """Run a micro-batch if there is something for it to do."""
        with self._taking:
            delivered = self._delivered()
            if delivered is None or not (delivered or self._has_work()):
                return False
            numbers = {stream: delivery.number for stream, delivery in delivered.items()}
            try:
                self._driver.batches.micro_batch(self._job(delivered), numbers)
            except SourceErrors as failed:
                if self._stopping.is_set():
                    raise  # it was cancelled: nobody's fault
                for stream, error in failed.errors.items():
                    self._deliveries.refuse([stream], error)
                return True
            self._batches_run += 1
            self._deliveries.took(delivered)
            return True

    def _has_work(self) -> bool:
        with self._driver.lock:
            has_work = self._driver.batches.has_work()
        return has_work or self._driver.batches.tick()

    def _delivered(self) -> dict[str, Delivery] | None:
        """What the next batch has of the host; None while one that was begun waits for what it had.

        What a paused stream has delivered stays where it is, and with it whoever brings the stream. A batch that only
        takes an old stream away has nothing: what there is may be of streams that come after it.
        """
        waiting, begun = self._deliveries.waiting(), self._driver.batches.begun
        if begun is None:
            statements, plans = self._driver.statements, self._driver.plans
            if statements.last_to_take(plans.current.sources) != statements.last:
                return {}
            paused = self._paused()
            return {stream: delivery for stream, delivery in waiting.items() if stream not in paused}
        missing = [stream for stream in begun.delivered if stream not in waiting]
        if any(map(self._brought.is_bringing, missing)):
            return None
        return {stream: delivery for stream, delivery in waiting.items() if stream in begun.delivered}

    def _paused(self) -> Streams:
        """Streams that are not read at present: too much of what they brought waits for others."""
        with self._driver.lock:
            return self._at.paused_streams()

    @property
    def _at(self) -> EngineProgress:
        return self._driver.plans.engine_progress(self._driver.batches.last)

    def _is_through(self) -> bool:
        """Whether all streams have ended, or in a bounded run all that is there of them has been read."""
        with self._driver.lock:
            names, paused = _streams(self._driver), self._paused()
            if not names or not self._driver.batches.is_idle or self._deliveries.waiting().keys() - paused:
                return False
            failing = [name for name in names if self._driver.failures.of(name) is not None]
            left = [name for name in names if name not in failing and not self._is_read(name)]
            if not paused.issuperset(left) or (left and not (self._is_bounded and self._is_stuck())):
                return False
            if failing and self._is_bounded:
                self._driver.failures.check_hope(failing)
            if left and not failing:
                _say_what_is_left(left, self._at.holders())
            return not failing

    def _is_stuck(self) -> bool:
        """Whether no time will pass those streams by that the paused ones wait for."""
        holders = self._at.holders()
        full = (self._driver.stream(name) for name, holder in holders.items() if holder.is_full)
        return all(entry.heartbeat is None and entry.idle_after is None for entry in full)

    def _is_read(self, stream: str) -> bool:
        progress = self._driver.batches.progress.streams.get(stream)
        if progress is not None and progress.has_ended:
            return True
        return self._is_bounded and progress is not None and self._driver.readers.unread(stream) == 0

    def _finish_if_ended(self) -> None:
        """When all streams have ended, periodic queries emit their last refreshes."""
        batches = self._driver.batches
        if batches.watermark == FOREVER and not batches.has_ended:
            with self._taking:
                batches.finish(self._job({}))


def _streams(driver: Driver) -> list[str]:
    return [entry.name.lower() for entry in driver.session.catalog.entries(StreamEntry)]


def _say_what_is_left(paused: Sequence[str], holders: Mapping[str, HoldingStream]) -> None:
    """A run that was to read all that is there has come as far as it can."""
    for name, holder in holders.items():
        if holder.is_full:
            left, who = ", ".join(paused), ", ".join(holder.queries)
            LOG.warning(
                "not all of %s has been read: waiting_limit is reached, and %s waits for rows of %s; %s",
                *(left, who, name, holder.hint),
            )


class NoHostSources:
    """A host that brings no sources."""

    def follow(self) -> None: ...
    def bring_available(self) -> None: ...
    def poll(self) -> None: ...
    def stop(self) -> None: ...
    def own_thread(self) -> None: ...
    def cancel(self) -> None: ...

    def is_bringing(self, stream: str) -> bool:
        return False

    def bringing(self) -> Callable[[Collection[str]], bool]:
        return lambda paused: False
