"""Batches of an environment with several groups of agents, as one team sees them."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import torch as th

from components.episode_batch import EpisodeBatch
from envs.contract.fields import AGENTS
from envs.contract.groups import own_path, owner


class TeamView:
    """Batches as the team of some groups sees them: its own fields by their own names, and the common ones.

    A team of k groups, which are alike, sees each episode as k episodes: entry b * k + g is that of group number g.

    Args:
        sizes: of all groups, by name.
        groups: those of the team.
    """

    def __init__(self, sizes: Mapping[str, int], groups: Sequence[str]):
        self.sizes, self.groups = sizes, tuple(groups)
        self.episodes = len(self.groups)
        self._n_agents = sizes[self.groups[0]]
        self._last: tuple[EpisodeBatch, EpisodeBatch] | None = None
        self._parts: dict[tuple[str, ...], TeamView] = {}

    def part(self, groups: Sequence[str]) -> "TeamView":
        """The view of some of its groups only."""
        if (chosen := tuple(groups)) == self.groups:
            return self
        if chosen not in self._parts:
            self._parts[chosen] = TeamView(self.sizes, chosen)
        return self._parts[chosen]

    def names(self, paths: Sequence[str]) -> dict[str, list[str]]:
        """Own name -> paths of that field, one for each group, or for all."""
        found: dict[str, list[str]] = {}
        for path in paths:
            group = owner(path, self.sizes)
            if group is None or group in self.groups:
                found.setdefault(own_path(path, group), []).append(path)
        return {own: sorted(same, key=self._number) for own, same in found.items()}

    def scheme(self, scheme: Mapping[str, dict]) -> dict[str, dict]:
        """The team's part of a scheme."""
        return {own: self._own_entry(scheme[paths[0]]) for own, paths in self.names(list(scheme)).items()}

    def preprocess(self, preprocess: Mapping[str, tuple]) -> dict[str, tuple]:
        """The team's derived fields."""
        names = self.names(list(preprocess))
        return {own: (f"{own}_onehot", preprocess[paths[0]][1]) for own, paths in names.items()}

    @property
    def own_groups(self) -> dict[str, int]:
        return {AGENTS: self._n_agents}

    def of(self, batch: EpisodeBatch) -> EpisodeBatch:
        """The team's view of a batch. Of one group it shows the batch's own memory, of several a copy."""
        if self._last is not None and self._last[0] is batch:
            return self._last[1]
        scheme: dict[str, dict] = {}
        data: dict[str, th.Tensor] = {}
        constant: dict[str, th.Tensor] = {}
        for own, paths in self.names(list(batch.scheme)).items():
            scheme[own] = self._own_entry(batch.scheme[paths[0]])
            values = self._joined([batch[path] for path in paths])
            (constant if scheme[own].get("episode_const") else data)[own] = values
        view = EpisodeBatch(
            scheme,
            self.own_groups,
            batch.batch_size * self.episodes,
            batch.max_seq_length,
            data=SimpleNamespace(transition_data=data, episode_data=constant),
            device=batch.device,
        )
        if self.episodes == 1:
            self._last = batch, view
        return view

    def at(self, batch: EpisodeBatch, t: int) -> tuple[EpisodeBatch, int]:
        """A view that has step `t` and the one before it, and the place of `t` there."""
        if self.episodes == 1:
            return self.of(batch), t
        return self.of(batch[:, max(0, t - 1) : t + 1]), min(t, 1)

    def entries(self, entries: Sequence[int] | slice) -> Sequence[int] | slice:
        """The team's entries of the episodes `entries`."""
        if self.episodes == 1 or isinstance(entries, slice):
            return entries
        return [entry * self.episodes + g for entry in entries for g in range(self.episodes)]

    def by_group(self, values: th.Tensor) -> dict[str, th.Tensor]:
        """Values of the team's entries `[B * k, ...]`, by group: `[B, ...]` each."""
        parts = values.unflatten(0, (-1, self.episodes))
        return {group: parts[:, g] for g, group in enumerate(self.groups)}

    def _own_entry(self, entry: dict) -> dict:
        own = {**entry, "group": AGENTS} if "group" in entry else dict(entry)
        return own | {"of": own_path(entry["of"], owner(entry["of"], self.sizes))} if "of" in entry else own

    def _number(self, path: str) -> int:
        group = owner(path, self.sizes)
        return 0 if group is None else self.groups.index(group)

    def _joined(self, values: list[th.Tensor]) -> th.Tensor:
        if self.episodes == 1:
            return values[0]
        if len(values) == 1:  # common to all groups
            values = values * self.episodes
        return th.stack(values, dim=1).flatten(0, 1)
