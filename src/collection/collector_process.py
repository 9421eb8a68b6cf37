"""The process of a collector: it plays rollouts with the learner's weights and sends them."""

import copy
import functools
import logging
import pickle
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from checkpoints.parts import load_state, state_of
from collection.collector_board import PLAYING, SENDING, WAITING, CollectorBoard
from collection.synchronous import best_episodes
from collection.weights import SharedWeights
from components.batch_state import batch_arrays
from records.logger import Logger
from runners.contract import Stats
from utils.config.live_parts import parts_that_act, set_live
from utils.errors import MusterError
from utils.numbers.random_streams import global_generators, seed_everything, set_global_generators
from utils.plain_values import quoted
from utils.processes.available_memory import memory_errors_explained
from utils.processes.shared_memory import NamelessMemory
from utils.processes.stopping import StopPlaying, request_stop
from vector_envs.worker import show_messages

# messages to a collector: (PLAY, steps of the run so far), (STATE, None), (LOAD, pickled state),
# (CHANGE, (key, value)), (CLOSE, None)
PLAY, STATE, LOAD, CHANGE, CLOSE = "play", "state", "load", "change", "close"
# messages from it, beside the answer to STATE: (FETCHED, None), (ROLLOUT, Rollout), (FAILED, (text, incurable))
FETCHED, ROLLOUT, FAILED = "fetched", "rollout", "failed"


@dataclass
class Rollout:
    """A rollout as it is sent.

    `arrays`: of the batch (`components.batch_state`). `steps`, `episodes`: how far it takes the run's counts.
    `version`: of the oldest weights that it was played with. `logged`: arguments of `log_stat`. `best`: its best
    episodes (`runners.best_episodes`). `pending`: the returns, and the sums of other figures, of the episodes that the
    collector has not logged yet.
    """

    arrays: dict[str, dict[str, np.ndarray]]
    steps: int
    episodes: int
    version: int
    logged: list[tuple[str, float, int, bool]]
    best: list[dict[str, Any]]
    pending: tuple[list[float], Stats] = ([], {})


@dataclass
class _Paused:
    """A rollout that is to be continued: of which weights, after how many decisions, from which step of the run."""

    version: int
    steps: int
    t_env: int


@dataclass
class Job:
    """What a collector needs to know.

    `args`: the run's config. `players_of`: a function of a module, (args, logger) -> (runner, controller), which
    builds them. `pull_steps`: steps of its environments after which it fetches weights again; 0: between rollouts.
    `acknowledges`: it reports that it has fetched the weights of a rollout.
    """

    args: SimpleNamespace
    players_of: Callable
    index: int
    seed: int
    size: int
    pull_steps: int
    acknowledges: bool


def collect(connection: Connection, job: Job, weights: NamelessMemory, board: NamelessMemory) -> None:
    """Play a rollout for each message to do so, until the message to close, or until the learner is gone."""
    show_messages()
    logging.getLogger("muster.collector").setLevel(logging.WARNING)  # each would say the rest of it
    try:
        try:
            # another process in its place would need as much
            with memory_errors_explained(_explanation):
                collector = RolloutWorker(connection, job, weights, board)
                while collector.answer(*connection.recv()):
                    pass
        except MusterError as error:  # its message is enough, without a traceback
            connection.send((FAILED, (str(error), True)))
        except (EOFError, ConnectionError):
            raise
        except Exception:
            connection.send((FAILED, (traceback.format_exc(), False)))
    except (EOFError, ConnectionError):
        pass  # the learner is gone


def _explanation(reason: str) -> str:
    return (
        f"There is not enough memory for it: {quoted(reason, 300)}. Choose fewer collectors.processes, a smaller "
        "batch_size_run, or acting_device=cpu if a GPU is full."
    )


class RolloutWorker:
    """The parts of a collector, and its answers."""

    def __init__(self, connection: Connection, job: Job, weights: NamelessMemory, board: NamelessMemory):
        self._connection, self._job = connection, job
        self._board = CollectorBoard(job.size, board)
        th.set_num_threads(1)
        seed_everything(job.seed)
        self._logger = Logger(logging.getLogger("muster.collector"))
        self._runner, self._mac = job.players_of(job.args, self._logger)
        self._weights = SharedWeights(self._mac, weights)
        self._steps = 0
        # the rollout that was being played when all were to stop
        self._paused: _Paused | None = None
        _before_each_step(self._mac, self._step)
        self._board.enter(job.index, WAITING)

    def answer(self, command: str, value: Any) -> bool:
        """Do what a message says. Returns whether there may be another one."""
        if command == PLAY:
            self._play(value)
        elif command == CHANGE:
            set_live([self._runner, *parts_that_act(self._mac)], *value)
        elif command == STATE:
            # as bytes: torch would send its tensors as memory that both processes share
            self._connection.send((STATE, pickle.dumps(self._state())))
        elif command == LOAD:
            self._load(pickle.loads(value))  # noqa: S301 - written by our own parent process
        else:
            self._runner.close_env()
        return command != CLOSE

    def _play(self, t_env: int) -> None:
        job, board, runner = self._job, self._board, self._runner
        resumed, self._paused = self._paused, None
        # the board never shows newer weights than those it plays with
        board.versions[job.index] = self._weights.version if resumed is None else resumed.version
        board.enter(job.index, PLAYING)
        version, self._steps = (self._weights.fetch(), 0) if resumed is None else (resumed.version, resumed.steps)
        board.versions[job.index], board.steps[job.index] = version, 0
        if job.acknowledges:
            self._connection.send((FETCHED, None))
        t_env = t_env if resumed is None else resumed.t_env
        logged: list[tuple[str, float, int, bool]] = []
        runner.t_env = t_env
        try:
            with self._logger.collecting(logged), th.no_grad():
                batch = runner.run(test_mode=False)
        except StopPlaying:
            self._paused = _Paused(version, self._steps, t_env)
            board.enter(job.index, WAITING)
            return
        board.enter(job.index, SENDING)
        board.steps[job.index] = 0
        episodes = runner.episodes_brought
        best = best_episodes(runner)
        pending = copy.deepcopy((runner.train_returns, runner.train_stats))
        rollout = Rollout(batch_arrays(batch), runner.t_env - t_env, episodes, version, logged, best, pending)
        self._connection.send((ROLLOUT, rollout))
        board.enter(job.index, WAITING)

    def _step(self) -> None:
        board, index = self._board, self._job.index
        board.beat(index)
        if board.stopping:
            request_stop()
        board.steps[index] += self._runner.batch_size
        self._steps += 1
        if self._job.pull_steps and self._steps % self._job.pull_steps == 0:
            self._weights.fetch()

    def _state(self) -> dict[str, Any]:
        runner = self._runner.state_dict()
        paused = None if self._paused is None or self._runner.dropped_because else asdict(self._paused)
        return {"runner": runner, "mac": state_of(self._mac), "generators": global_generators(), "paused": paused}

    def _load(self, state: dict[str, Any]) -> None:
        self._runner.load_state_dict(state["runner"])
        load_state(self._mac, state["mac"], "the collector's controller")
        set_global_generators(state["generators"])
        # of checkpoints from before it was kept
        self._paused = _Paused(**state["paused"]) if state.get("paused") else None


def _before_each_step(mac: Any, notice: Callable[[], None]) -> None:
    """Call `notice` whenever the controller is asked for actions."""
    for name in ("decide", "select_actions"):
        if hasattr(mac, name):
            setattr(mac, name, _noticed(getattr(mac, name), notice))


def _noticed(function: Callable, notice: Callable[[], None]) -> Callable:
    @functools.wraps(function)
    def noticed(*args: Any, **options: Any) -> Any:
        notice()
        return function(*args, **options)

    return noticed
