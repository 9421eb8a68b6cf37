"""The controllers of several teams, for a runner one controller."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.team_views import TeamView
from controllers.decisions import Decider, Decision
from controllers.inputs import known_before
from utils.tensor_trees import Tree


@dataclass
class Team:
    """A team's controller and its view of batches; a `frozen` one acts as in tests and is not trained."""

    mac: Any
    view: TeamView
    frozen: bool = False


class TeamControllers:
    """Asks each team's controller for the actions of its groups.

    Its memory, `hidden_states`, is the tree {team: memory}; models lie in a folder for each team.

    Args:
        teams: by name.
    """

    supports_decide = True

    def __init__(self, teams: Mapping[str, Team]):
        self.teams = dict(teams)
        self._deciders: dict[str, tuple[EpisodeBatch, Decider]] = {}

    def decide(
        self, batch: EpisodeBatch, t: int, t_env: int, rows: Any = slice(None), test_mode: bool = False
    ) -> Decision:
        """The decisions of all teams at step `t` of the episodes `rows`: actions and extras by the groups' paths."""
        actions: dict[str, th.Tensor] = {}
        extras: dict[str, Any] = {}
        for name, team in self.teams.items():
            view, t_there = team.view.at(batch, t)
            asked = self._decider(name, team.mac, view)
            decision = asked.ask(t_there, t_env, team.view.rows(rows), test_mode or team.frozen)
            for branch, chosen in decision.actions.items():
                actions |= {f"{group}/{branch}": part for group, part in team.view.by_group(chosen).items()}
            for key in decision.extras:
                for group in team.view.groups:
                    extras[f"{group}/{key}"] = partial(_extra_of, decision, key, team.view, group)
        return Decision(actions, extras)

    def init_hidden(self, batch_size: int) -> None:
        for team in self.teams.values():
            team.mac.init_hidden(batch_size * team.view.episodes)

    @property
    def hidden_states(self) -> Tree:
        return {name: getattr(team.mac, "hidden_states", None) for name, team in self.teams.items()}

    @hidden_states.setter
    def hidden_states(self, hidden: Tree) -> None:
        for name, team in self.teams.items():
            team.mac.hidden_states = hidden[name]

    def known_before(self, hidden: Tree, acting: EpisodeBatch) -> dict[str, th.Tensor]:
        """The fields of a rollout with each team's memory from before its first column; see `known_before`."""
        known: dict[str, th.Tensor] = {}
        for name, team in self.teams.items():
            for key, values in known_before(team.mac, hidden[name], team.view.of(acting)).items():
                known |= {f"{group}/{key}": part for group, part in team.view.by_group(values).items()}
        return known

    @property
    def epsilons(self) -> dict[str, float]:
        """How much each team that learns explores, as far as its selector has an epsilon."""
        found = {
            name: getattr(getattr(team.mac, "action_selector", None), "epsilon", None)
            for name, team in self._learning()
        }
        return {f"{name}/epsilon".lstrip("/"): epsilon for name, epsilon in found.items() if epsilon is not None}

    @property
    def action_selector(self) -> "TeamControllers":
        """The selectors that can be annealed."""
        return self

    def anneal(self, t_env: int) -> None:
        """Let the selectors explore as much as they do after `t_env` steps."""
        for _, team in self._learning():
            if hasattr(getattr(team.mac, "action_selector", None), "anneal"):
                team.mac.action_selector.anneal(t_env)

    def _learning(self) -> Iterator[tuple[str, Team]]:
        return ((name, team) for name, team in self.teams.items() if not team.frozen)

    def parameters(self) -> Iterator[th.nn.Parameter]:
        return chain.from_iterable(team.mac.parameters() for team in self.teams.values())

    def load_state(self, other: "TeamControllers") -> None:
        """Copy the weights of `other`."""
        for name, team in self.teams.items():
            team.mac.load_state(other.teams[name].mac)

    def cuda(self) -> None:
        for team in self.teams.values():
            team.mac.cuda()

    def save_models(self, path: str) -> None:
        """Write each team's models into a folder of its name in the folder `path`."""
        for name, team in self.teams.items():
            os.makedirs(os.path.join(path, name), exist_ok=True)
            team.mac.save_models(os.path.join(path, name))

    def load_models(self, path: str) -> None:
        """Read the files of `save_models`."""
        for name, team in self.teams.items():
            team.mac.load_models(os.path.join(path, name))

    def _decider(self, name: str, mac: Any, view: EpisodeBatch) -> Decider:
        last = self._deciders.get(name)
        if last is None or last[0] is not view:
            last = self._deciders[name] = view, Decider(mac, view)
        return last[1]


def _extra_of(decision: Decision, key: str, view: TeamView, group: str) -> th.Tensor:
    return view.by_group(decision.extra(key))[group]
