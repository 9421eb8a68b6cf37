"""The controllers of several teams, for a runner one controller."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.team_views import TeamView
from controllers.contract import Controller, controller
from controllers.decisions import Decider, Decision
from controllers.hidden_states import reset_where
from utils.tensors.devices import to_device
from utils.tensors.tensor_trees import Tree, map_tree


@dataclass
class Team:
    """A team's controller and its view of batches; a `frozen` one acts as in tests and is not trained.

    `stand_ins`: group -> the controller that plays it instead, of the same kind, with weights of the past, say.
    """

    mac: Any
    view: TeamView
    frozen: bool = False
    stand_ins: dict[str, Any] = field(default_factory=dict)

    def players(self) -> list[tuple[Any, TeamView]]:
        """The controllers that act, each with the view of its groups."""
        own = [group for group in self.view.groups if group not in self.stand_ins]
        others = [(mac, self.view.part([group])) for group, mac in self.stand_ins.items()]
        return [*([(self.mac, self.view.part(own))] if own else []), *others]


class TeamControllers(Controller):
    """Asks each team's controller for the actions of its groups.

    Its memory, `hidden_states`, is the tree {team: memory}; models lie in a folder for each team. Whichever controllers
    play a team's groups, its memory has a row for each group of each episode, in the order of the team's view.

    Args:
        teams: by name.
    """

    supports_decide = counts_episodes = True

    def __init__(self, teams: Mapping[str, Team]):
        self.teams = dict(teams)
        self._deciders: dict[tuple[str, tuple[str, ...]], tuple[EpisodeBatch, Any, Decider]] = {}
        self._episodes = 0

    def decide(
        self, batch: EpisodeBatch, t: int, t_env: int, rows: Any = slice(None), test_mode: bool = False
    ) -> Decision:
        """The decisions of all teams at step `t` of the episodes `rows`: actions and extras by the groups' paths."""
        actions: dict[str, th.Tensor] = {}
        extras: dict[str, Any] = {}
        for name, team in self.teams.items():
            for mac, view in team.players():
                seen, t_there = view.at(batch, t)
                asked = self._decider((name, view.groups), mac, seen)
                decision = asked.ask(t_there, t_env, view.entries(rows), test_mode or team.frozen)
                for branch, chosen in decision.actions.items():
                    actions |= {f"{group}/{branch}": part for group, part in view.by_group(chosen).items()}
                for key in decision.extras:
                    for group in view.groups:
                        extras[f"{group}/{key}"] = partial(_extra_of, decision, key, view, group)
        return Decision(actions, extras)

    def init_hidden(self, batch_size: int) -> None:
        self._episodes = batch_size
        for team in self.teams.values():
            for mac, view in team.players():
                mac.init_hidden(batch_size * view.episodes)

    @property
    def hidden_states(self) -> Tree:
        return {name: self._memory(team) for name, team in self.teams.items()}

    @hidden_states.setter
    def hidden_states(self, hidden: Tree) -> None:
        for name, team in self.teams.items():
            for mac, view in team.players():
                mac.hidden_states = memory_of_some(hidden[name], view, team.view, self._episodes)

    def renewed(self, hidden: Tree, initial: Tree) -> Tree:
        """The memory `hidden`, but `initial` in the groups that were taken over: nobody has the memory of another."""
        taken, self.taken_over = self.taken_over, frozenset()
        renewed = dict(hidden)
        for name, team in self.teams.items():
            if any(which := [group in taken for group in team.view.groups]):
                rows = th.tensor(which).expand(self._episodes, -1)
                renewed[name] = map_tree(partial(_renewed_where, rows), hidden[name], initial[name])
        return renewed

    def known_before(self, hidden: Tree, acting: EpisodeBatch) -> dict[str, th.Tensor]:
        """The fields of a rollout with each team's memory from before its first step; see `known_before`."""
        known: dict[str, th.Tensor] = {}
        for name, team in self.teams.items():
            for key, values in controller(team.mac).known_before(hidden[name], team.view.of(acting)).items():
                known |= {f"{group}/{key}": part for group, part in team.view.by_group(values).items()}
        return known

    @property
    def epsilons(self) -> dict[str, float]:
        """How much each team that learns explores, as far as its selector has an epsilon."""
        return {
            f"{name}/{key}".lstrip("/"): epsilon
            for name, team in self._learning()
            for key, epsilon in controller(team.mac).epsilons.items()
        }

    def anneal(self, t_env: int) -> None:
        for _, team in self._learning():
            controller(team.mac).anneal(t_env)

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

    def _decider(self, place: tuple[str, tuple[str, ...]], mac: Any, batch: EpisodeBatch) -> Decider:
        last = self._deciders.get(place)
        if last is None or last[0] is not batch or last[1] is not mac:
            last = self._deciders[place] = batch, mac, Decider(mac, batch)
        return last[2]

    def _memory(self, team: Team) -> Tree:
        players = team.players()
        memories = [controller(mac).hidden_states for mac, _ in players]
        return memory_of_all(memories, [view for _, view in players], team.view, self._episodes)


def _extra_of(decision: Decision, key: str, view: TeamView, group: str) -> th.Tensor:
    return view.by_group(decision.extra(key))[group]


def _renewed_where(rows: th.Tensor, now: th.Tensor, first: th.Tensor) -> th.Tensor:
    return reset_where(to_device(rows, now.device), now, first)


def memory_of_all(memories: Sequence[Tree], views: Sequence[TeamView], team: TeamView, episodes: int) -> Tree:
    """The team's memory, from those of its controllers and the views of these."""
    if len(memories) == 1:
        return memories[0]
    groups = [group for view in views for group in view.groups]
    order = [groups.index(group) for group in team.groups]

    def joined(*leaves: th.Tensor) -> th.Tensor:
        by_group = [x.reshape(episodes, view.episodes, -1) for x, view in zip(leaves, views, strict=True)]
        rows = len(leaves[0]) // views[0].episodes * team.episodes
        return th.cat(by_group, dim=1)[:, order].reshape(rows, *leaves[0].shape[1:])

    return map_tree(joined, *memories)


def memory_of_some(memory: Tree, view: TeamView, team: TeamView, episodes: int) -> Tree:
    """The memory of the groups of `view`, from that of the team."""
    if view is team:
        return memory
    chosen = [team.groups.index(group) for group in view.groups]
    return map_tree(lambda x: x.unflatten(0, (episodes, team.episodes, -1))[:, chosen].flatten(0, 2), memory)
