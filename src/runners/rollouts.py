"""The training rollouts of a run, one after another, or the next one while the learner trains."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch as th


class Rollouts:
    """Lets a runner play, each time with the learner's newest weights.

    With `overlap`, `begin_next` lets the next rollout be played in a thread while the learner trains on the last one;
    its weights are then one round of updates old. The thread alone draws random numbers of torch, so that a run with
    the same seed stays the same. A rollout's fault is raised by the `take` that would have returned it.

    Args:
        runner: acts with `acting_mac`.
        mac: the learner's controller.
        acting_mac: `mac` itself, or a copy of it, which is brought up to date before each rollout; `overlap` needs a
            copy.
        overlap: whether `begin_next` does anything.
    """

    def __init__(self, runner: Any, mac: Any, acting_mac: Any, overlap: bool = False):
        self.runner, self.mac, self.acting_mac = runner, mac, acting_mac
        threads = th.get_num_threads()  # which new threads do not inherit
        self._pool = ThreadPoolExecutor(1, "rollout", th.set_num_threads, (threads,)) if overlap else None
        self._next: Future | None = None
        # of the last rollout taken; the runner's own counts may be ahead
        self.t_env = runner.t_env
        self.episodes = 0

    def take(self) -> Any:
        """The next rollout, as `runner.run` returns it."""
        if self._next is None:
            self.update_weights()
            batch = self.play()
        else:
            batch = self._next.result()
            self._next = None
        self.t_env = self.runner.t_env
        self.episodes = getattr(self.runner, "episodes_brought", self.runner.batch_size)
        return batch

    def begin_next(self) -> None:
        """Begin the next rollout with the weights as they are now; the runner is busy until `take`."""
        if self._pool is not None:
            self.update_weights()
            self._next = self._pool.submit(self.play)

    def play(self, test_mode: bool = False) -> Any:
        # nothing played is differentiated through, whatever a controller of a user's own computes
        with th.no_grad():
            return self.runner.run(test_mode=test_mode)

    def update_weights(self) -> None:
        """Bring the acting controller up to date."""
        if self.acting_mac is not self.mac:
            self.acting_mac.load_state(self.mac)

    def close(self) -> None:
        """Wait until nothing is being played; may be called twice."""
        if self._pool is not None:
            self._pool.shutdown()
