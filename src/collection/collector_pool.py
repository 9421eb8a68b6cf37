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

from acting.collector_board import STARTING, WORDS
from acting.collector_process import CLOSE, FAILED, FETCHED, PLAY, ROLLOUT, Job, Rollout
from acting.transport import InProcesses, Transport
from acting.weights import SharedWeights
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


class Member:
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


class Crew:
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
        self.members = [Member(index) for index in range(job.size)]
        # the member from which a message is being received, for the watch
        self._receiving: tuple[Member, float] | None = None
        self._closed = threading.Event()
        self.restarts = 0
        self.waited = 0.0
        self._had_any = False
        try:
            for member in self.members:
                self._start(member)
        except BaseException:
            self._transport.close()
            raise
        threading.Thread(target=self._watch, name="collectors' watch", daemon=True).start()

    def publish(self) -> None:
        """The learner's weights are newer than before."""
        self._transport.publish()

    def send(self, member: Member, command: str, value: Any = None) -> None:
        """Send a message; a collector that is gone is found out about when its answer is waited for."""
        with contextlib.suppress(OSError):
            member.connection.send((command, value))

    def grant(self, member: Member, t_env: int) -> None:
        """Let a collector play another rollout; if it acknowledges, wait until it has its weights.

        Raises:
            MusterError: it fails again and again.
        """
        if not member.granted:
            # until it begins, it counts as one of the present weights
            self.board.versions[member.index] = self._weights.version
        member.granted += 1
        member.heard = time.monotonic()
        self.send(member, PLAY, t_env)
        if self._job.acknowledges:
            try:
                self._await(member, FETCHED)
            except (EOFError, OSError):
                self._restart(member, member.process.died("its turn"), t_env)

    def collect(self, t_env: int, wanted: Callable[[np.ndarray], Member | None]) -> Member:
        """Receive rollouts until `wanted` returns a member that has one; collectors that fail meanwhile are restarted.

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
            if (member := wanted(versions)) is not None:
                self.waited += time.monotonic() - started
                self._had_any = True
                return member
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

    def ask(self, member: Member, command: str, answer: str, seconds: float = math.inf) -> Any:
        """Send a message and wait for its answer; rollouts that come before it are kept.

        Raises:
            MusterError: the collector fails meanwhile, or does not answer within `seconds`.
        """
        self.send(member, command)
        try:
            return self._await(member, answer, seconds)
        except (EOFError, OSError):
            raise MusterError(f"Collector {member.index} {member.process.died(command)}") from None

    def close(self) -> None:
        """End all collectors; may be called twice."""
        self._closed.set()
        self.stop_playing()
        for member in self.members:
            self.send(member, CLOSE)
            member.connection.close()
        deadline = time.monotonic() + CLOSE_TIMEOUT
        for member in self.members:
            member.process.end(max(0.0, deadline - time.monotonic()))
        self._transport.close()

    def _start(self, member: Member) -> None:
        job = self._job
        seed = _seed(job.args.seed, member.index, member.restarts)
        args = copy.deepcopy(job.args)
        args.seed = args.env_args["seed"] = seed
        # which of the run's environments it has (`vector_envs.instances`)
        args.collector = member.index
        self.board.enter(member.index, STARTING)
        member.connection, member.process = self._transport.start(
            replace(job, index=member.index, seed=seed, args=args)
        )

    def _await(self, member: Member, answer: str, seconds: float = math.inf) -> Any:
        """Wait for a message of this kind."""
        deadline = time.monotonic() + seconds
        while True:
            while seconds < math.inf and not self._transport.wait([member.connection], 1.0):
                if time.monotonic() > deadline:
                    raise MusterError(f"Collector {member.index} does not answer.")
            kind, content = self._receive(member)
            if kind == answer:
                return content
            self._take(member, kind, content)

    def _receive_all(self, seconds: float, t_env: int) -> bool:
        """Receive what there is, waiting up to `seconds` for the first message; restart what failed.

        Returns:
            whether there was anything.
        """
        ready = set(self._transport.wait([member.connection for member in self.members], seconds))
        for member in self.members:
            if member.connection in ready:
                try:
                    while member.connection.poll():
                        self._take(member, *self._receive(member))
                except (EOFError, OSError):
                    self._restart(member, member.process.died("a rollout" if member.granted else "its wait"), t_env)
            elif self._hangs(member):
                timeout = self._timeout(member)
                self._restart(member, member.process.hangs("a rollout", timeout, "collectors.timeout"), t_env)
        return bool(ready)

    def _hangs(self, member: Member) -> bool:
        silent = min(self.board.silent(member.index), time.monotonic() - member.heard)
        return bool(member.granted and silent > self._timeout(member))

    def _timeout(self, member: Member) -> float:
        timeout = self._options["timeout"]
        return max(timeout, START) if self.board.states[member.index] == STARTING else timeout

    def _receive(self, member: Member) -> tuple[str, Any]:
        self._receiving = (member, time.monotonic())
        try:
            return member.connection.recv()
        finally:
            self._receiving, member.heard = None, time.monotonic()

    def _take(self, member: Member, kind: str, content: Any) -> None:
        if kind == ROLLOUT:
            member.rollouts.append(content)
            member.granted -= 1
            member.failures = 0
        elif kind == FAILED:
            text, incurable = content
            if incurable:
                raise MusterError(f"Collector {member.index}: {text}")
            self._console.error(f"Collector {member.index} failed:\n{text}")

    def _restart(self, member: Member, what: str, t_env: int) -> None:
        """Start another process in the place of one that is gone; the rollout that it played is lost.

        Raises:
            MusterError: restarts do not help.
        """
        member.connection.close()
        member.process.kill()
        member.failures += 1
        if member.failures > self._options["restarts"]:
            raise MusterError(
                f"Collector {member.index} {what} It was restarted {self._options['restarts']} times "
                "(collectors.restarts) without a rollout between."
            )
        lost = "; the run is no longer reproducible" if self._options["deterministic"] else ""
        self._console.warning(
            f"Collector {member.index} {what} It is restarted with new episodes; the rollout in play is lost{lost}."
        )
        member.restarts += 1
        self.restarts += 1
        granted, member.granted = member.granted, 0
        self._start(member)
        for _ in range(granted):
            self.grant(member, t_env)

    def _description(self) -> str:
        said = (
            f"Collector {member.index} {WORDS[int(self.board.states[member.index])]} "
            f"(last seen {self.board.silent(member.index):.0f} s ago, {len(member.rollouts)} waiting)"
            for member in self.members
        )
        return "; ".join(said) + "."

    def _watch(self) -> None:
        """Kill a collector that stopped in the middle of a message, which would be waited for without end."""
        while not self._closed.wait(1.0):
            receiving = self._receiving
            if receiving is None:
                continue
            member, since = receiving
            silent = min(time.monotonic() - since, self.board.silent(member.index))
            if silent > self._timeout(member):
                member.process.kill()


def _seed(seed: int, index: int, restarts: int) -> int:
    """The seed of a collector, which no other one and no environment of the run's own has."""
    return int(np.random.SeedSequence([seed, SEED_OF_COLLECTORS, index, restarts]).generate_state(1)[0]) % 2**31
