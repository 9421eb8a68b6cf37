"""Teams of agents that different runs have trained."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch as th

from components.batch_items import MissingFieldError
from components.episode_batch import EpisodeBatch
from controllers.contract import Controller, controller
from controllers.decisions import Decider, Decision
from envs.contract.fields import AGENTS
from envs.contract.groups import owner
from utils.errors import ConfigError
from utils.tensors.tensor_trees import Tree


class MixedControllers(Controller):
    """Asks each of several controllers for the actions of all agents, and takes those of its own agents.

    So each remembers and sees what it would see if all agents were its own, and no controller has to know of others.

    Args:
        macs: one, or several of the same environment.
        places: group -> of each agent of it, the place of its controller among `macs`.
        names: of the controllers' runs, for messages.
    """

    supports_decide = True

    def __init__(self, macs: Sequence[Any], places: Mapping[str, Sequence[int]], names: Sequence[str]):
        self._names = names
        self._macs, self._places = list(macs), {group: tuple(own) for group, own in places.items()}
        self._asked = sorted({place for own in self._places.values() for place in own})
        self._deciders: dict[int, tuple[EpisodeBatch, Decider]] = {}

    def decide(
        self, batch: EpisodeBatch, t: int, t_env: int, rows: Any = slice(None), test_mode: bool = False
    ) -> Decision:
        """The decisions at step `t` of the episodes `rows`: actions by path `[rows, n, ...]`, without extras.

        Raises:
            ConfigError: a controller needs a field that its own run alone has.
        """
        decided = {}
        for k in self._asked:
            try:
                decided[k] = self._decider(k, batch).ask(t, t_env, rows, test_mode).actions
            except MissingFieldError as error:
                raise ConfigError(
                    f"The agents of {self._names[k]} cannot play with others: they see a field that only the batches "
                    f"of their own run have. {error}"
                ) from None
        paths = next(iter(decided.values()))
        return Decision({path: self._taken(path, decided) for path in paths})

    def init_hidden(self, batch_size: int) -> None:
        for k in self._asked:
            self._macs[k].init_hidden(batch_size)

    @property
    def hidden_states(self) -> Tree:
        return {str(k): controller(self._macs[k]).hidden_states for k in self._asked}

    @hidden_states.setter
    def hidden_states(self, hidden: Tree) -> None:
        for k in self._asked:
            self._macs[k].hidden_states = hidden[str(k)]

    def known_before(self, hidden: Tree, acting: EpisodeBatch) -> dict[str, th.Tensor]:
        """Nothing: nobody learns from what they play."""
        return {}

    def _taken(self, path: str, decided: Mapping[int, Mapping[str, th.Tensor]]) -> th.Tensor:
        places = self._places[owner(path, self._places) or AGENTS]
        if len({*places}) == 1:
            return decided[places[0]][path]
        return th.stack([decided[k][path][:, agent] for agent, k in enumerate(places)], dim=1)

    def _decider(self, k: int, batch: EpisodeBatch) -> Decider:
        last = self._deciders.get(k)
        if last is None or last[0] is not batch:
            last = self._deciders[k] = batch, Decider(self._macs[k], batch)
        return last[1]
