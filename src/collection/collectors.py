"""Playing in other processes while the learner learns."""

import math
import pickle
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from collection.collector_options import under_way
from collection.collector_pool import Collector, CollectorPool
from collection.collector_process import CHANGE, LOAD, STATE, Job, Rollout
from collection.contract import Experience
from collection.synchronous import SyncCollection
from collection.transport import transport_of
from collection.weights import SharedWeights
from components.batch_state import batch_of_arrays
from runners.contract import Runner, Stats
from utils.errors import MusterError
from utils.processes.stopping import GRACE, stop_requested


class Collectors(SyncCollection):
    """k processes, here or elsewhere (`collection.transport`), each with its own environments, runner and controller.

    The learner's weights are published before each rollout that is taken, if they have changed, and fetched by the
    collectors. A rollout's lag is the number of newer weights that were published since it began; `max_lag` bounds it:
    of rollouts that are under way, the oldest ones are waited for in time. With `deterministic`, collectors take turns,
    and each begins its next rollout when its last one is taken, with the weights of that moment.

    Args: see `collection.build`.
    """

    def __init__(self, runner: Runner, mac: Any, acting_mac: Any, logger: Any, like: Any):
        super().__init__(runner, mac, acting_mac, logger)
        self._logger, self._like, self._args = logger, like, runner.args
        self._options = runner.args.collectors
        self._columns = runner.batch_columns or runner.args.episode_limit + 1
        self._most = self._options["max_lag"] or 2 * under_way(self._options)
        self._weights = SharedWeights(mac)
        self._pool: CollectorPool | None = None
        # by collector, of its last rollout that was taken
        self._pending: dict[int, tuple[list[float], Stats]] = {}
        turns = self._options["deterministic"]
        self._not_kept = "" if turns else "collectors that do not take turns start new episodes"
        self._taken = self._largest_lag = 0
        # rollouts and states of collectors, from a checkpoint
        self._resumed: dict[str, Any] | None = None

    def collect_by(self, players_of: Callable) -> None:
        self._players_of = players_of

    def take(self) -> Experience:
        version = self._weights.publish()
        pool = self._pool or self._begin()
        pool.publish()
        collector = pool.collect(self.t_env, lambda playing: self._next(pool.collectors, version, playing))
        rollout = collector.rollouts.popleft()
        collector.served = self._taken
        self._taken += 1
        self.t_env += rollout.steps
        self.runner.t_env = self.t_env
        pool.grant(collector, self.t_env)
        for entry in rollout.logged:
            self._logger.log_stat(*entry)
        self._pending[collector.index] = rollout.pending
        lag = version - rollout.version
        self._largest_lag = max(self._largest_lag, lag)
        self._follow_exploration()
        batch = batch_of_arrays(rollout.arrays, self._like, self._columns)
        source, best = collector.index, rollout.best
        return Experience(batch, self.t_env, rollout.episodes, lag, source=source, best=best)

    def figures(self) -> dict[str, float]:
        """Statistics since the last call: the largest lag, restarts so far, and seconds of waiting for rollouts."""
        figures: dict[str, float] = {"weight_lag_max": self._largest_lag}
        self._largest_lag = 0
        if self._pool is not None and not self._options["deterministic"]:
            figures |= {"collector_restarts": self._pool.restarts, "collector_wait": self._pool.waited}
            self._pool.waited = 0.0
        return figures

    def take_live(self, key: str, value: Any) -> None:
        """A key of the config has changed (`experiment.live`); collectors that start later have it from the config."""
        if self._pool is not None:
            for collector in self._pool.collectors:
                self._pool.send(collector, CHANGE, (key, value))

    def log_pending(self) -> None:
        """Of the rollouts that were taken; the collectors play on, and are not asked."""
        for returns, sums in self._pending.values():
            self.runner.train_returns += returns
            for key, total in sums.items():  # lists are joined
                known = self.runner.train_stats.get(key)
                self.runner.train_stats[key] = total if known is None else known + total
        self._pending.clear()
        super().log_pending()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def state_dict(self) -> dict[str, Any]:
        """Counts; of collectors that take turns, also their states, and the rollouts that they have played."""
        weights = {"version": self._weights.version, "changed": self._weights.changed}
        counts = {"taken": self._taken, "largest_lag": self._largest_lag}
        state = {**super().state_dict(), **weights, **counts, "collectors": None}
        if self._pool is not None and stop_requested():
            self._pool.stop_playing()
        if self._options["deterministic"] and self._pool is not None:
            state["collectors"] = self._states(self._pool)
        elif self._options["deterministic"] and self._resumed is not None:
            state["collectors"] = self._resumed["collectors"]
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: it is of another number of collectors, or of another order of turns."""
        super().load_state_dict(state)
        self._taken, self._largest_lag = state["taken"], state["largest_lag"]
        self._weights.resume(state["version"], state["changed"])
        collectors = state["collectors"]
        # those that took turns and did not answer were not saved either
        if collectors is None and (self._taken or not self._options["deterministic"]):
            self._logger.console_logger.warning(
                "The collectors start new episodes: the order of their rollouts, what they were playing and their "
                "random numbers cannot be repeated. collectors.deterministic=True makes runs that resume exactly."
            )
        elif collectors and not (self._options["deterministic"] and len(collectors) == self._options["processes"]):
            raise ValueError(
                f"it is of {len(collectors)} collectors that take turns: resume with collectors.processes="
                f"{len(collectors)} and collectors.deterministic=True"
            )
        self._resumed = state if collectors is not None else None

    def _begin(self) -> CollectorPool:
        """Start the collectors, and let all of them play."""
        options = self._options
        self.t_env = max(self.t_env, self.runner.t_env)
        job = Job(
            self._args,
            self._players_of,
            index=0,
            seed=0,
            size=options["processes"],
            pull_steps=0 if options["deterministic"] else options["pull_steps"],
            acknowledges=options["deterministic"],
        )
        console = self._logger.console_logger
        pool = self._pool = CollectorPool(job, self._weights, options, console, transport_of(options["transport"]))
        for collector in pool.collectors:
            granted = under_way(options) // options["processes"]
            if self._resumed is not None:
                granted = _restore(pool, collector, self._resumed["collectors"][collector.index])
            for _ in range(granted):
                pool.grant(collector, self.t_env)
        self._resumed = None
        return pool

    def _next(self, collectors: list[Collector], version: int, playing: np.ndarray) -> Collector | None:
        """The collector whose rollout is taken next; None if it must be waited for.

        Args:
            version: of the learner's weights.
            playing: the versions of those that collectors play with, int64 `[k]`.
        """
        if self._options["deterministic"]:
            collector = collectors[self._taken % len(collectors)]
            return collector if collector.rollouts else None
        ready = [collector for collector in collectors if collector.rollouts]
        if not ready:
            return None
        oldest = min(ready, key=lambda collector: (collector.rollouts[0].version, collector.served))
        versions = []
        for collector in collectors:
            versions += [rollout.version for rollout in collector.rollouts]
            # those that have not begun will not have older weights
            versions += [int(playing[collector.index])] * collector.granted
        versions.sort()
        # in this order, the k-th is taken k rounds from now: is any too old by then?
        urgent = any(version + k >= old + self._most for k, old in enumerate(versions))
        return None if urgent and oldest.rollouts[0].version > versions[0] else oldest

    @property
    def steps_in_play(self) -> int:
        """Those that are being played, and those that wait to be learned from, if nothing keeps them; of a test."""
        if (tested := super().steps_in_play) or self._pool is None:
            return tested
        waiting = sum(rollout.steps for collector in self._pool.collectors for rollout in collector.rollouts)
        return int(self._pool.board.steps.sum()) + waiting

    @property
    def dropped_because(self) -> str:
        """Why the last `state_dict` does not have these steps; empty if it has."""
        return super().dropped_because if super().steps_in_play else self._not_kept

    def _states(self, pool: CollectorPool) -> list[dict[str, Any]] | None:
        """Those of all collectors; None if one that is to stop does not."""
        # without a stop, they answer when their rollouts are played
        deadline = time.monotonic() + GRACE + 2 if stop_requested() else math.inf
        try:
            return [_state_of(pool, collector, deadline - time.monotonic()) for collector in pool.collectors]
        except MusterError as error:
            if not stop_requested():
                raise
            self._logger.console_logger.warning(f"The states of the collectors are not saved: {error}")
            self._not_kept = "a collector did not answer"
            return None


def _state_of(pool: CollectorPool, collector: Collector, seconds: float) -> dict[str, Any]:
    state = pool.ask(collector, STATE, STATE, seconds)
    return {
        "state": pickle.loads(state),  # noqa: S301 - of our own child process
        "granted": collector.granted,
        "served": collector.served,
        "rollouts": [asdict(rollout) for rollout in collector.rollouts],
    }


def _restore(pool: CollectorPool, collector: Collector, state: dict[str, Any]) -> int:
    """Give a collector its state and rollouts. Returns how many it is to play now."""
    pool.send(collector, LOAD, pickle.dumps(state["state"]))
    collector.served = state["served"]
    for rollout in state["rollouts"]:
        logged = [(str(key), float(value), int(t), bool(told)) for key, value, t, told in rollout.pop("logged")]
        collector.rollouts.append(Rollout(**rollout, logged=logged))
    return state["granted"]
