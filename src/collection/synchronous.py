"""Playing and learning take turns."""

from collections.abc import Iterator
from typing import Any

import torch as th

from collection.contract import Collection, Experience
from collection.weights import weights_of
from controllers.contract import controller
from runners.base import calls_of_a_test
from runners.contract import Runner
from utils.numbers.random_streams import RandomStream


class SyncCollection(Collection):
    """Plays each rollout on demand, with the newest weights (`collection.contract.Collection`).

    Args: see `collection.build`.
    """

    def __init__(self, runner: Runner, mac: Any, acting_mac: Any, logger: Any, like: Any = None):
        self.runner, self._mac, self._acting_mac = runner, mac, acting_mac
        self.t_env = runner.t_env
        self.weights_changed = True
        # how often torch has changed the weights of both controllers in place, at the last copy
        self._changes: list[int] = []

    @property
    def steps_in_play(self) -> int:
        return self.runner.steps_in_play

    @property
    def dropped_because(self) -> str:
        return self.runner.dropped_because

    def take(self) -> Experience:
        if not self._continues_rollout():
            self._choose_players()
        return self._experience(self._play(), lag=0)

    def test(self, stream: RandomStream, played: int = 0) -> Iterator[int]:
        self._update_weights()
        if self.opponents is not None:
            self.opponents.rest()
        runner = self.runner
        planned = calls_of_a_test(runner, runner.args.test_nepisode)
        # episodes whose environment crashed do not count, so there may be more than planned
        while played < planned or runner.test_unfinished:
            with stream.active():
                self._play(test_mode=True)
            played += 1
            yield played

    def log_pending(self) -> None:
        self.runner.log_pending()

    def state_dict(self) -> dict[str, Any]:
        return {"t_env": self.t_env, "runner": self.runner.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: the runner is of another kind."""
        self.t_env, self.weights_changed = state["t_env"], True
        self.runner.load_state_dict(state["runner"])

    def _experience(self, batch: Any, lag: int) -> Experience:
        """The rollout that is taken now."""
        if self._acting_mac is not self._mac:
            self._follow_exploration()
        self.t_env = self.runner.t_env
        learning = None if self.opponents is None else self.opponents.learning
        best = tuple(best_episodes(self.runner))
        return Experience(batch, self.t_env, self.runner.episodes_brought, lag, learning, best=best)

    def _follow_exploration(self) -> None:
        """Let the learner's controller explore as the acting one does: that is part of the policy that it learns."""
        controller(self._mac).anneal(self.t_env)

    def _choose_players(self) -> None:
        """Before a rollout of training: with which weights, and against whom."""
        self._update_weights()
        if self.opponents is not None:
            self.opponents.draw(self.runner.t_env)

    def _continues_rollout(self) -> bool:
        """Whether the runner ends a rollout that was started before the run was resumed; as it was played then."""
        continues = self.runner.continues
        if continues and self.opponents is not None:
            self.opponents.continue_rollout()
        return continues

    def _play(self, test_mode: bool = False) -> Any:
        # acting needs no gradients, whatever a user's own controller computes
        with th.no_grad():
            return self.runner.run(test_mode=test_mode)

    def _update_weights(self) -> None:
        if self._acting_mac is self._mac:
            return
        if not hasattr(self._mac, "parameters"):  # a user's own, of whose weights nothing is known
            self._acting_mac.load_state(self._mac)
        # fused optimisers leave torch's counts as they are
        elif self.weights_changed or self._count_changes() != self._changes:
            self._acting_mac.load_state(self._mac)
            self.weights_changed, self._changes = False, self._count_changes()

    def _count_changes(self) -> list[int]:
        return [weight._version for mac in (self._mac, self._acting_mac) for weight in weights_of(mac)]


def best_episodes(runner: Runner) -> list[dict[str, Any]]:
    """Those that a runner has played since the last call (`runners.best_episodes`)."""
    return [] if runner.best_episodes is None else runner.best_episodes.fetch()
