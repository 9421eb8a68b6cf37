"""The training rollouts of a run, one after another, or the next one while the learner trains."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch as th

from components.batch_state import batch_from_state, batch_state
from components.episode_batch import EpisodeBatch
from records.logger import Logger


class Rollouts:
    """Lets a runner play, each time with the learner's newest weights.

    With `overlap`, `begin_next` lets the next rollout be played in a thread while the learner trains on the last one;
    its weights are then one round of updates old. The thread alone draws random numbers of torch, so that a run with
    the same seed stays the same. What is logged while it is played is logged when it is taken: in the same order, and
    with the same count of episodes, however fast either of the two was. A rollout's fault is raised by the `take` that
    would have returned it.

    Args:
        runner: acts with `acting_mac`.
        mac: the learner's controller.
        acting_mac: `mac` itself, or a copy of it, which is brought up to date before each rollout; `overlap` needs a
            copy.
        logger: the one that the runner logs to.
        overlap: whether `begin_next` does anything.
    """

    def __init__(self, runner: Any, mac: Any, acting_mac: Any, logger: Logger, overlap: bool = False):
        self.runner, self.mac, self.acting_mac = runner, mac, acting_mac
        self._logger = logger
        threads = th.get_num_threads()  # which new threads do not inherit
        self._pool = ThreadPoolExecutor(1, "rollout", th.set_num_threads, (threads,)) if overlap else None
        self._next: Future | None = None
        # a rollout that was waited for before its turn, or that a checkpoint had
        self._ready: Any = None
        # what was logged while that one, or the one that is being played, was played: arguments of `log_stat`
        self._logged: list[tuple[str, float, int, bool]] = []
        # of the last rollout taken; the runner's own counts may be ahead
        self.t_env = runner.t_env
        self.episodes = 0

    def take(self) -> Any:
        """The next rollout, as `runner.run` returns it."""
        self.settle()
        if self._ready is None:
            self.update_weights()
            self._ready = self.play()
        batch, self._ready = self._ready, None
        self._log_collected()
        if self.acting_mac is not self.mac and hasattr(getattr(self.mac, "action_selector", None), "anneal"):
            # the exploration that was acted with is part of a policy that a learner differentiates
            self.mac.action_selector.anneal(self.t_env)
        self.t_env = self.runner.t_env
        self.episodes = getattr(self.runner, "episodes_brought", self.runner.batch_size)
        return batch

    def begin_next(self) -> None:
        """Begin the next rollout with the weights as they are now; the runner is busy until `take`."""
        if self._pool is not None:
            self.update_weights()
            self._next = self._pool.submit(self._play_ahead)

    def test_goes_on(self, played: int) -> bool:
        """Whether a test that has played so many rollouts has not come to `test_nepisode` episodes yet.

        Episodes whose environment crashed do not count, so that there may be more than were planned.
        """
        runner = self.runner
        planned = -(-runner.args.test_nepisode // runner.batch_size)
        return played < planned or getattr(runner, "test_unfinished", False)

    def settle(self) -> None:
        """Wait until nothing is being played; the next `take` returns what was."""
        if self._next is not None:
            running, self._next = self._next, None
            try:
                self._ready = running.result()
            except BaseException:
                self._log_collected()
                raise

    def state_dict(self) -> dict[str, Any]:
        """Counts, the runner, and the rollout that is played ahead, which this waits for."""
        self.settle()
        return {
            "t_env": self.t_env,
            "episodes": self.episodes,
            "runner": self._runner_state(),
            "ready": None if self._ready is None else batch_state(self._ready),
            "logged": list(self._logged),
        }

    def load_state_dict(self, state: dict[str, Any], like: EpisodeBatch) -> None:
        """Resume from where `state_dict` was taken. `like`: a batch with the fields of rollouts."""
        self.t_env, self.episodes = state["t_env"], state["episodes"]
        if hasattr(self.runner, "load_state_dict"):
            self.runner.load_state_dict(state["runner"])
        else:
            self._load_counts(state["runner"])
        if state["ready"] is not None:
            self._ready = batch_from_state(state["ready"], like)
        self._logged = [(str(key), float(value), int(t), bool(told)) for key, value, t, told in state["logged"]]

    def _runner_state(self) -> dict[str, Any]:
        """Its own, or of a runner that says nothing of it, as PyMARL's do not, its counts."""
        if hasattr(self.runner, "state_dict"):
            return self.runner.state_dict()
        return {name: value for name, value in vars(self.runner).items() if type(value) in (int, float)}

    def _load_counts(self, counts: dict[str, Any]) -> None:
        """Raises: ValueError: they are not counts that the runner has."""
        if not set(counts) <= set(self._runner_state()) or not all(type(x) in (int, float) for x in counts.values()):
            raise ValueError(f"{type(self.runner).__name__} keeps other counts than the checkpoint's")
        vars(self.runner).update(counts)

    def play(self, test_mode: bool = False) -> Any:
        # nothing played is differentiated through, whatever a controller of a user's own computes
        with th.no_grad():
            return self.runner.run(test_mode=test_mode)

    def _play_ahead(self) -> Any:
        with self._logger.collecting(self._logged):
            return self.play()

    def _log_collected(self) -> None:
        logged, self._logged = self._logged, []
        for arguments in logged:
            self._logger.log_stat(*arguments)

    def update_weights(self) -> None:
        """Bring the acting controller up to date."""
        if self.acting_mac is not self.mac:
            self.acting_mac.load_state(self.mac)

    def close(self) -> None:
        """Wait until nothing is being played; may be called twice."""
        if self._pool is not None:
            self._pool.shutdown()
