"""Playing the next rollout while the learner trains on the last one."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import torch as th

from collection.contract import Experience
from collection.synchronous import SyncCollection
from components.batch_state import batch_from_state, batch_state
from runners.contract import Runner
from utils.processes.stopping import StopPlaying
from utils.timing import timed


class AsyncCollection(SyncCollection):
    """`begin_next` starts the next rollout in a thread, with the weights of that moment.

    Its weights are then one round of updates behind: the lag is 1. Only the thread draws random numbers of torch, so a
    run stays reproducible. `take` writes the rollout's log entries: in the same order and with the same count of
    episodes, whichever of the two was faster.

    Args: see `collection.build`.
    """

    def __init__(self, runner: Runner, mac: Any, acting_mac: Any, logger: Any, like: Any):
        super().__init__(runner, mac, acting_mac, logger)
        self._logger, self._like = logger, like
        threads = th.get_num_threads()  # which new threads do not inherit
        self._pool = ThreadPoolExecutor(1, "rollout", th.set_num_threads, (threads,))
        self._next: Future | None = None
        # a rollout that was finished early, or restored from a checkpoint
        self._ready: Any = None
        # log entries of that rollout, or of the one in progress: arguments of `log_stat`
        self._logged: list[tuple[str, float, int, bool]] = []
        # a stop has interrupted the next rollout; and whether one that was is still to be ended, in a resumed run
        self._stopped: StopPlaying | None = None
        self._resumed = False

    def take(self) -> Experience:
        self.settle()
        if self._stopped is not None:
            raise self._stopped
        if self._resumed:
            if self._continues_rollout():
                self._ready = self._play_ahead()
            self._resumed = False
        if self._ready is None:
            return super().take()
        batch, self._ready = self._ready, None
        self._log_collected()
        return self._experience(batch, lag=1)

    def begin_next(self) -> None:
        self._choose_players()
        self._next = self._pool.submit(self._play_ahead)

    def log_pending(self) -> None:
        # a rollout that is not taken is not part of the run, and its episodes are among the runner's
        if self._next is None and self._ready is None:
            super().log_pending()

    def settle(self) -> None:
        if self._next is not None:
            running = self._next
            try:
                wait([running])
            finally:  # interrupted, as by a signal, it is still to be waited for
                self._next = running if not running.done() else None
            try:
                self._ready = running.result()
            except StopPlaying as stop:
                self._stopped = stop
            except BaseException:
                self._log_collected()
                raise

    def state_dict(self) -> dict[str, Any]:
        self.settle()
        return {
            **super().state_dict(),
            "ready": None if self._ready is None else batch_state(self._ready),
            "logged": list(self._logged),
            "stopped": self._stopped is not None or self._resumed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._resumed = bool(state.get("stopped", False))
        if state["ready"] is not None:
            self._ready = batch_from_state(state["ready"], self._like)
        self._logged = [(str(key), float(value), int(t), bool(told)) for key, value, t, told in state["logged"]]

    def close(self) -> None:
        self._pool.shutdown()

    def _play_ahead(self) -> Any:
        # in a thread: beside "train", where "play" is the wait for this
        with self._logger.collecting(self._logged), timed("ahead"):
            return self._play()

    def _log_collected(self) -> None:
        logged, self._logged = self._logged, []
        for arguments in logged:
            self._logger.log_stat(*arguments)
