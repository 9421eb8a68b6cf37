"""Playing saved models of several runs together: a cross-play matrix."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch as th

from collection.opponents.win_rates import WON, won
from components.scheme import scheme_of
from controllers.mixed_teams import MixedControllers
from envs.contract.fields import EnvSpec
from envs.contract.infos import is_true
from experiment.loaded_run import LoadedRun
from records.cross_play import Cell, Estimate
from runners.playing import EpisodesRunner
from utils.errors import ConfigError
from utils.numbers.random_streams import RandomStream
from vector_envs.instances import TEST_SEED_OFFSET


@dataclass(frozen=True)
class Places:
    """Who is played by the model of a row, and who by that of a column.

    Attributes:
        groups: sizes by name.
        opposed: every group has a reward of its own, and there are several.
        first: how many of the groups, or of the agents of a single group, are the row's.
    """

    groups: Mapping[str, int]
    opposed: bool
    first: int

    @classmethod
    def of(cls, spec: EnvSpec, first: int | None) -> "Places":
        """Those of an environment; `first` None: one group, or half of the agents.

        Raises:
            ConfigError: nobody is left for one of both.
        """
        groups = dict(spec.groups)
        names = cls(groups, False, 0).names()
        if len(names) < 2:
            raise ConfigError("Cross-play needs two agents or more, or two groups of them; the environment has one.")
        if first is None:
            first = 1 if len(groups) > 1 else len(names) // 2
        if not 1 <= first < len(names):
            raise ConfigError(
                f"--first={first}: of {len(names)} {'groups' if len(groups) > 1 else 'agents'} the row's model plays "
                f"from 1 to {len(names) - 1}."
            )
        return cls(groups, len(groups) > 1 and all(f"{group}/reward" in spec.fields for group in groups), first)

    def names(self) -> list[str]:
        if len(self.groups) > 1:
            return list(self.groups)
        return [f"agent_{i}" for size in self.groups.values() for i in range(size)]

    def controllers(self, row: int, column: int) -> dict[str, list[int]]:
        """Group -> of each agent, `row` or `column`."""
        whose = [row if k < self.first else column for k in range(len(self.names()))]
        if len(self.groups) == 1:
            return dict.fromkeys(self.groups, whose)
        return {group: [whose[k]] * size for k, (group, size) in enumerate(self.groups.items())}

    def outcome(self, info: Mapping[str, Any]) -> tuple[float, float | None, float | None]:
        """The return of the row's, that of the column's, and whether the row's have won; None where there is none."""
        if not self.opposed:
            victory = float(is_true(info, WON)) if info.get(WON) is not None else None
            return float(info["return"]), None, victory
        names = self.names()
        mine, theirs = names[: self.first], names[self.first :]
        own, other = (sum(float(info[f"{group}/return"]) for group in groups) for groups in (mine, theirs))
        return own, other, won(mine[0], theirs, info)


class CrossPlay:
    """Plays pairs of models in the environments of the first one.

    Args:
        loaded: the models; all but the first one may have closed their environments.
        names: of their runs, for messages.
        places: who plays whom.
        episodes: of each pair.
        recorder_of: (row, column) -> the recorder of that pair, or None.

    Raises:
        ConfigError: a model was trained on an environment with other fields, or the runner is not built in.
    """

    def __init__(
        self,
        loaded: Sequence[LoadedRun],
        names: Sequence[str],
        places: Places,
        episodes: int,
        recorder_of: Callable[[int, int], Any],
    ):
        self._recorder_of = recorder_of
        self._macs, self._names, self._places, self._episodes = [one.mac for one in loaded], names, places, episodes
        runner, self._args = loaded[0].runner, loaded[0].args
        if not isinstance(runner, EpisodesRunner):
            raise ConfigError(f"Cross-play does not go with runner={self._args.runner}, which is not built in.")
        self._runner, spec = runner, runner.spec
        for one, name in zip(loaded[1:], names[1:], strict=True):
            _require_same(spec, one.runner.spec, names[0], name)
        self._scheme, self._groups, self._preprocess = scheme_of(spec, self._args.buffer_dtype)
        runner.vector_env.play(test_mode=True)  # the copies of tests are made now
        self._start = copy.deepcopy(runner.environments_state())

    def play(self, row: int, column: int) -> Cell:
        """The results of a pair. They do not depend on which pairs were played before, if environments can be saved.

        Raises:
            ConfigError: an agent needs a field that its own run alone has.
        """
        runner = self._runner
        mac = MixedControllers(self._macs, self._places.controllers(row, column), self._names)
        runner.setup(scheme=self._scheme, groups=self._groups, preprocess=self._preprocess, mac=mac)
        runner.load_environments_state(copy.deepcopy(self._start))
        played: list[tuple[float, float | None, float | None]] = []
        runner.recorder = self._recorder_of(row, column)
        runner.on_match_episode = partial(_note, played, self._places.outcome)
        stream = RandomStream(self._args.seed + TEST_SEED_OFFSET)
        try:
            while len(played) < self._episodes:
                with stream.active(), th.no_grad():
                    runner.run(test_mode=True)
        finally:
            runner.on_match_episode = runner.recorder = None
        returns, others, wins = zip(*played[: self._episodes], strict=True)
        return Cell(row, column, *(_estimate(values) for values in (returns, others, wins)))


def _note(played: list, outcome: Callable, info: Mapping[str, Any]) -> None:
    played.append(outcome(info))


def _estimate(values: Sequence[float | None]) -> Estimate:
    return Estimate.of(np.array([value for value in values if value is not None], dtype=np.float64).tolist())


def _require_same(first: EnvSpec, other: EnvSpec | None, name: str, other_name: str) -> None:
    if other is None or dict(first.groups) != dict(other.groups):
        raise ConfigError(f"{other_name} has other groups of agents than {name}: they cannot play together.")
    for path in {**first.fields, **other.fields}:
        if first.fields.get(path) != other.fields.get(path):
            raise ConfigError(f"{other_name} and {name} differ in the field {path}: they cannot play together.")
