"""Playing and learning take turns."""

from collections.abc import Iterator
from typing import Any

import torch as th

from collection.contract import Experience, Opponents
from collection.controller_weights import weights_of
from controllers.contract import controller
from runners.base import calls_of_a_test
from utils.numbers.random_streams import RandomStream


class SyncCollection:
    """Plays each rollout on demand, with the newest weights (`collection.contract.Collection`).

    Args: see `acting.build`.
    """

    def __init__(self, runner: Any, mac: Any, acting_mac: Any, logger: Any, like: Any = None):
        self._runner, self._mac, self._acting_mac = runner, mac, acting_mac
        self.t_env = runner.t_env
        self.opponents: Opponents | None = None
        self.weights_changed = True
        # how often torch has changed the weights of both controllers in place, at the last copy
        self._changes: list[int] = []

    @property
    def runner(self) -> Any:
        """Plays the tests, and unless others do, the rollouts."""
        return self._runner

    @property
    def steps_in_play(self) -> int:
        """Of a rollout that a stop has interrupted; 0 of a runner of PyMARL's, which plays rollouts to their ends."""
        return getattr(self._runner, "steps_in_play", 0)

    @property
    def dropped_because(self) -> str:
        """Why the last `state_dict` does not have these steps; empty if it has."""
        return getattr(self._runner, "dropped_because", "")

    def take(self) -> Experience:
        if not self._continues_rollout():
            self._choose_players()
        return self._experience(self._play(), lag=0)

    def begin_next(self) -> None:
        """Nothing starts before `take`."""

    def test(self, stream: RandomStream, played: int = 0) -> Iterator[int]:
        self._update_weights()
        if self.opponents is not None:
            self.opponents.rest()
        runner = self._runner
        planned = calls_of_a_test(runner, runner.args.test_nepisode)
        # episodes whose environment crashed do not count, so there may be more than planned
        while played < planned or getattr(runner, "test_unfinished", False):
            with stream.active():
                self._play(test_mode=True)
            played += 1
            yield played

    def log_pending(self) -> None:
        """See `collection.contract.Collection`; a runner of PyMARL's keeps its statistics until they are due."""
        getattr(self._runner, "log_pending", lambda: None)()

    def settle(self) -> None:
        """Nothing is played in the background."""

    def close(self) -> None:
        """Nothing is played in the background."""

    def state_dict(self) -> dict[str, Any]:
        return {"t_env": self.t_env, "runner": self._runner_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: the runner is of another kind."""
        self.t_env, self.weights_changed = state["t_env"], True
        if hasattr(self._runner, "load_state_dict"):
            self._runner.load_state_dict(state["runner"])
        else:
            self._load_counts(state["runner"])

    def _experience(self, batch: Any, lag: int) -> Experience:
        """The rollout that is taken now."""
        if self._acting_mac is not self._mac:
            # the exploration while acting is part of a policy that a learner differentiates
            controller(self._mac).anneal(self.t_env)
        self.t_env = self._runner.t_env
        episodes = getattr(self._runner, "episodes_brought", self._runner.batch_size)
        learning = None if self.opponents is None else self.opponents.learning
        return Experience(batch, self.t_env, episodes, lag, learning, best=tuple(best_episodes(self._runner)))

    def _choose_players(self) -> None:
        """Before a rollout of training: with which weights, and against whom."""
        self._update_weights()
        if self.opponents is not None:
            self.opponents.draw(self._runner.t_env)

    def _continues_rollout(self) -> bool:
        """Whether the runner ends a rollout that was started before the run was resumed; as it was played then."""
        continues = getattr(self._runner, "continues", False)
        if continues and self.opponents is not None:
            self.opponents.continue_rollout()
        return continues

    def _play(self, test_mode: bool = False) -> Any:
        # acting needs no gradients, whatever a user's own controller computes
        with th.no_grad():
            return self._runner.run(test_mode=test_mode)

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

    def _runner_state(self) -> dict[str, Any]:
        """Its own, or the counts of a runner without one, such as PyMARL's."""
        if hasattr(self._runner, "state_dict"):
            return self._runner.state_dict()
        return {name: value for name, value in vars(self._runner).items() if type(value) in (int, float)}

    def _load_counts(self, counts: dict[str, Any]) -> None:
        """Raises: ValueError: the runner has other counts."""
        if not set(counts) <= set(self._runner_state()) or not all(type(x) in (int, float) for x in counts.values()):
            raise ValueError(f"{type(self._runner).__name__} keeps other counts than the checkpoint's")
        vars(self._runner).update(counts)


def best_episodes(runner: Any) -> list[dict[str, Any]]:
    """Those that a runner has played since the last call (`runners.best_episodes`); none of a runner of PyMARL's."""
    found = getattr(runner, "best_episodes", None)
    return [] if found is None else found.fetch()
