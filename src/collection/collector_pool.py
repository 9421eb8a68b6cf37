"""The collectors' processes: started, watched, restarted, ended."""

import contextlib
import copy
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from collection.collector_board import STARTING, WORDS
from collection.collector_process import CLOSE, FAILED, FETCHED, PLAY, ROLLOUT, Job, Rollout
from collection.transport import InProcesses, Transport
from collection.weights import SharedWeights
from utils.errors import MusterError
from utils.processes.child_process import CLOSE_TIMEOUT
from utils.processes.stopping import heed_stop

# seconds from one report about a queue that brings nothing to the next
REPORT_EVERY = 60.0
# seconds until a report about the first rollouts
FIRST_REPORT = 10.0
# seconds that a collector may take to start, at the least
START = 120.0
# in the seeds of collectors, and of no environments
SEED_OF_COLLECTORS = 2_000_003


class Collector:
    """One collector: its process, its messages, and the rollouts that it has sent.

    `granted`: rollouts that it is to play and has not sent. `failures`: restarts since its last rollout.
    `heard`: when it last got or sent a message.
    """

    def __init__(self, index: int):
        self.index = index
        self.rollouts: deque[Rollout] = deque()
        self.granted = self.failures = self.restarts = 0
        self.served, self.heard = -1, time.monotonic()
        self.process: Any = None
        self.connection: Any = None


class CollectorPool:
    """`size` collectors.

    Args:
        job: of all of them; each gets its own index, seed and config.
        weights: that they fetch.
        options: those below the key `collectors`.
        console: where faults are reported.
        transport: called with these four: makes what starts collectors and carries messages.
    """

    def __init__(
        self, job: Job, weights: SharedWeights, options: dict[str, Any], console: logging.Logger,
        transport: Callable[..., Transport] = InProcesses,
    ):  # fmt: skip
        self._job, self._weights, self._options, self._console = job, weights, options, console
        self._transport = transport(job, weights, options, console)
        self.board = self._transport.board
        self.collectors = [Collector(index) for index in range(job.size)]
        # the collector from which a message is being received, for the watch
        self._receiving: tuple[Collector, float] | None = None
        self._closed = threading.Event()
        self.restarts = 0
        self.waited = 0.0
        self._had_any = False
        try:
            for collector in self.collectors:
                self._start(collector)
        except BaseException:
            self._transport.close()
            raise
        threading.Thread(target=self._watch, name="collectors' watch", daemon=True).start()

    def publish(self) -> None:
        """The learner's weights are newer than before."""
        self._transport.publish()

    def send(self, collector: Collector, command: str, value: Any = None) -> None:
        """Send a message; a collector that is gone is found out about when its answer is waited for."""
        with contextlib.suppress(OSError):
            collector.connection.send((command, value))

    def grant(self, collector: Collector, t_env: int) -> None:
        """Let a collector play another rollout; if it acknowledges, wait until it has its weights.

        Raises:
            MusterError: it fails again and again.
        """
        if not collector.granted:
            # until it begins, it counts as one of the present weights
            self.board.versions[collector.index] = self._weights.version
        collector.granted += 1
        collector.heard = time.monotonic()
        self.send(collector, PLAY, t_env)
        if self._job.acknowledges:
            try:
                self._await(collector, FETCHED)
            except (EOFError, OSError):
                self._restart(collector, collector.process.died("its turn"), t_env)

    def collect(self, t_env: int, wanted: Callable[[np.ndarray], Collector | None]) -> Collector:
        """Receive rollouts until `wanted` returns a collector that has one; restart collectors that fail meanwhile.

        Args:
            wanted: gets the versions of the weights of those that play, int64 `[size]`.

        Raises:
            MusterError: one fails again and again.
            StopPlaying: that was requested.
        """
        started = reported = time.monotonic()
        while True:
            heed_stop()
            # noted before rollouts are received: one that begins meanwhile counts as older than it is
            versions = self.board.versions.copy()
            if self._receive_all(0.0, t_env):
                versions = self._transport.versions(versions)
            # those that still start begin with the newest: where there is no room for one, the others play on
            versions[self.board.states == STARTING] = self._weights.version
            if (collector := wanted(versions)) is not None:
                self.waited += time.monotonic() - started
                self._had_any = True
                return collector
            self._receive_all(1.0, t_env)
            now = time.monotonic()
            if not self._had_any and now - started >= FIRST_REPORT and reported == started:
                reported, steps = now, int(self.board.steps.sum())
                self._console.info(
                    f"Collectors are playing the first rollouts: {steps:,} steps after {now - started:.0f} seconds"
                )
            if now - reported >= REPORT_EVERY:
                reported = now
                self._console.warning(
                    f"No rollout to learn from for {reported - started:.0f} seconds. {self._description()}"
                )

    def stop_playing(self) -> None:
        """Let all collectors stop after the present step of their environments."""
        self._transport.stop_playing()

    def ask(self, collector: Collector, command: str, answer: str, seconds: float = math.inf) -> Any:
        """Send a message and wait for its answer; rollouts that come before it are kept.

        Raises:
            MusterError: the collector fails meanwhile, or does not answer within `seconds`.
        """
        self.send(collector, command)
        try:
            return self._await(collector, answer, seconds)
        except (EOFError, OSError):
            raise MusterError(f"Collector {collector.index} {collector.process.died(command)}") from None

    def close(self) -> None:
        """End all collectors; may be called twice."""
        self._closed.set()
        self.stop_playing()
        for collector in self.collectors:
            self.send(collector, CLOSE)
            collector.connection.close()
        deadline = time.monotonic() + CLOSE_TIMEOUT
        for collector in self.collectors:
            collector.process.end(max(0.0, deadline - time.monotonic()))
        self._transport.close()

    def _start(self, collector: Collector) -> None:
        job = self._job
        seed = _seed(job.args.seed, collector.index, collector.restarts)
        args = copy.deepcopy(job.args)
        args.seed = args.env_args["seed"] = seed
        # which of the run's environments it has (`vector_envs.instances`)
        args.collector = collector.index
        self.board.enter(collector.index, STARTING)
        collector.connection, collector.process = self._transport.start(
            replace(job, index=collector.index, seed=seed, args=args)
        )

    def _await(self, collector: Collector, answer: str, seconds: float = math.inf) -> Any:
        """Wait for a message of this kind."""
        deadline = time.monotonic() + seconds
        while True:
            while seconds < math.inf and not self._transport.wait([collector.connection], 1.0):
                if time.monotonic() > deadline:
                    raise MusterError(f"Collector {collector.index} does not answer.")
            kind, content = self._receive(collector)
            if kind == answer:
                return content
            self._take(collector, kind, content)

    def _receive_all(self, seconds: float, t_env: int) -> bool:
        """Receive what there is, waiting up to `seconds` for the first message; restart what failed.

        Returns:
            whether there was anything.
        """
        ready = set(self._transport.wait([collector.connection for collector in self.collectors], seconds))
        for collector in self.collectors:
            if collector.connection in ready:
                try:
                    while collector.connection.poll():
                        self._take(collector, *self._receive(collector))
                except (EOFError, OSError):
                    doing = "a rollout" if collector.granted else "its wait"
                    self._restart(collector, collector.process.died(doing), t_env)
            elif self._hangs(collector):
                timeout = self._timeout(collector)
                self._restart(collector, collector.process.hangs("a rollout", timeout, "collectors.timeout"), t_env)
        return bool(ready)

    def _hangs(self, collector: Collector) -> bool:
        silent = min(self.board.silent(collector.index), time.monotonic() - collector.heard)
        return bool(collector.granted and silent > self._timeout(collector))

    def _timeout(self, collector: Collector) -> float:
        timeout = self._options["timeout"]
        return max(timeout, START) if self.board.states[collector.index] == STARTING else timeout

    def _receive(self, collector: Collector) -> tuple[str, Any]:
        self._receiving = (collector, time.monotonic())
        try:
            return collector.connection.recv()
        finally:
            self._receiving, collector.heard = None, time.monotonic()

    def _take(self, collector: Collector, kind: str, content: Any) -> None:
        if kind == ROLLOUT:
            collector.rollouts.append(content)
            collector.granted -= 1
            collector.failures = 0
        elif kind == FAILED:
            text, incurable = content
            if incurable:
                raise MusterError(f"Collector {collector.index}: {text}")
            self._console.error(f"Collector {collector.index} failed:\n{text}")

    def _restart(self, collector: Collector, what: str, t_env: int) -> None:
        """Start another process in place of one that is gone; the rollout that it played is lost.

        Raises:
            MusterError: restarts do not help.
        """
        collector.connection.close()
        collector.process.kill()
        collector.failures += 1
        if collector.failures > self._options["restarts"]:
            raise MusterError(
                f"Collector {collector.index} {what} It was restarted {self._options['restarts']} times "
                "(collectors.restarts) without a rollout between."
            )
        lost = "; the run is no longer reproducible" if self._options["deterministic"] else ""
        self._console.warning(
            f"Collector {collector.index} {what} It is restarted with new episodes; the rollout in play is lost{lost}."
        )
        collector.restarts += 1
        self.restarts += 1
        granted, collector.granted = collector.granted, 0
        self._start(collector)
        for _ in range(granted):
            self.grant(collector, t_env)

    def _description(self) -> str:
        said = (
            f"Collector {collector.index} {WORDS[int(self.board.states[collector.index])]} "
            f"(last seen {self.board.silent(collector.index):.0f} s ago, {len(collector.rollouts)} waiting)"
            for collector in self.collectors
        )
        return "; ".join(said) + "."

    def _watch(self) -> None:
        """Kill a collector that stopped in the middle of a message, which would be waited for without end."""
        while not self._closed.wait(1.0):
            receiving = self._receiving
            if receiving is None:
                continue
            collector, since = receiving
            silent = min(time.monotonic() - since, self.board.silent(collector.index))
            if silent > self._timeout(collector):
                collector.process.kill()


def _seed(seed: int, index: int, restarts: int) -> int:
    """The seed of a collector, which no other one and no environment of the run's own has."""
    return int(np.random.SeedSequence([seed, SEED_OF_COLLECTORS, index, restarts]).generate_state(1)[0]) % 2**31
