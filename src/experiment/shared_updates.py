"""What learners do with samples and rollouts, by name: in one process, or in several at the same time."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch as th

from learners.intrinsic.rewards import rewarded
from learners.networks import networks_of


def update(learner: Any, sample: Any, t_env: int, episode: int) -> None:
    """An update from a sample, with the rewards of the learner's own."""
    learner.train(rewarded(learner, sample, t_env), t_env, episode)


def take_rollout(learner: Any, batch: Any, t_env: int) -> None:
    """See `experiment.contracts.PlainLearner`."""
    learner.take_rollout(batch, t_env)


METHODS: dict[str, Callable] = {"update": update, "take_rollout": take_rollout}


class Alone:
    """The learners of a run in one process."""

    def call(self, team: Any, method: str, *arguments: Any) -> None:
        """Let the learner of a team do what `METHODS` names."""
        METHODS[method](team.learner, *arguments)

    def compare(self) -> None:
        """Look whether all processes have the same weights."""

    def close(self, finished: bool) -> None:
        """End the other processes."""


def weights_of(learners: Mapping[str, Any]) -> Iterator[th.Tensor]:
    """The weights of all networks that learn, and of none else."""
    for team in sorted(learners):
        for _, network in networks_of(learners[team], learners[team].mac):
            yield from network.parameters()
