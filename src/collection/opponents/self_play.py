"""Self-play: in some rollouts one group learns, and the others are played by past or fixed models."""

import copy
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch as th

from checkpoints.model_files import find_checkpoint, save_checkpoint
from checkpoints.model_manifests import note_of
from checkpoints.parts import declared_names, load_state, state_of
from collection.opponents.pool import Pool, Weights
from collection.opponents.ratings import NEWEST, Ratings
from collection.opponents.win_rates import Scores, won
from controllers.teams import TeamControllers
from learners.non_finite import require_finite
from records.layout import MODELS, POOL
from records.logger import Logger
from runners.contract import Runner
from utils.errors import ConfigError
from utils.numbers.random_streams import RandomStream


class SelfPlay:
    """Chooses who plays which group, before each rollout, and tests the newest models against all opponents.

    Args:
        args: the config.
        mac: the learners' controllers, whose weights enter the pool.
        acting_mac: those that act: `mac`, or a copy of it.
        learning: the teams that learn, each with its groups.
        logger: of the run.

    Raises:
        ConfigError: a fixed model does not fit any team.
    """

    def __init__(
        self,
        args: SimpleNamespace,
        mac: TeamControllers,
        acting_mac: TeamControllers,
        learning: Mapping[str, Sequence[str]],
        logger: Logger,
    ):
        self._args = args
        self._mac, self._acting, self._teams, self._logger = mac, acting_mac, learning, logger
        # of each group that learns, its team
        self._sides = {group: team for team, groups in learning.items() for group in groups}
        self._stand_ins = {group: copy.deepcopy(acting_mac.teams[team].mac) for group, team in self._sides.items()}
        # of each team, what its controller has when it is new: no model knows more of another
        self._declared = {team: declared_names(mac.teams[team].mac) for team in learning}
        self._nepisode = args.opponent_nepisode
        self._files = PoolFiles(args, logger.console_logger.warning)
        self._pool = self._made_pool()
        self._scores = Scores()
        self._ratings = Ratings() if args.opponent_ratings else None
        # the groups that were not played by their newest model in the last rollout of training, and who played them
        self._playing: dict[str, str] = {}

    @property
    def learning(self) -> frozenset[str]:
        """The groups that were played by the newest models in the last rollout of training."""
        return frozenset(self._sides) - set(self._playing)

    def draw(self, t_env: int) -> None:
        """Choose who plays the next rollout of training; before, the newest model enters the pool if that is due."""
        self._take_newest(t_env)
        before, self._playing = self._playing, self._pool.draw(self._sides)
        self._play_as(self._playing)
        self._acting.taken_over = frozenset(
            group for group in self._sides if before.get(group) != self._playing.get(group)
        )

    def take_episode(self, info: Mapping[str, Any]) -> None:
        """An episode of training has ended that was played by the same models from start to end."""

    def continue_rollout(self) -> None:
        """Let those play the rest of a rollout of training who played its beginning, in a resumed run."""
        self._play_as(self._playing)

    def rest(self) -> None:
        """Let the newest models play all groups."""
        self._play_as({})

    def past_models(self) -> Iterator[str]:
        """The past models by name, each while it plays all groups."""
        try:
            for name in self._pool.past:
                self._play_as(dict.fromkeys(self._sides, name))
                yield name
        finally:
            self.rest()

    def test(self, runner: Runner, stream: RandomStream) -> Iterator[None]:
        """Play what is left of the matches of a test, with its random numbers, and log the win rates.

        Yields:
            after each rollout.
        """
        try:
            for group, opponent in self._matches():
                self._play_as(dict.fromkeys(self._others(group, opponent), opponent))
                runner.on_match_episode = partial(self._add, group, opponent)
                while self._scores.count(group, opponent) < self._nepisode:
                    with stream.active(), th.no_grad():
                        runner.run(test_mode=True)
                    yield
        finally:
            runner.on_match_episode = None
        if self._ratings is not None:
            for group, opponent, win in self._scores.wins_in_turn():
                others = [(self._sides[other], opponent) for other in self._others(group, opponent)]
                self._ratings.take((self._sides[group], NEWEST), others, win)
        for team, groups in self._teams.items():
            figures = self._scores.figures(groups, self._pool.ranks())
            if self._ratings is not None:
                figures |= self._ratings.figures(team, self._pool.ranks())
            for key, value in figures.items():
                self._logger.log_stat(f"{team}/{key}".lstrip("/"), value, runner.t_env)
        self._scores.clear()
        if self._ratings is not None:
            self._ratings.drift()

    def state_dict(self) -> dict[str, Any]:
        ratings = None if self._ratings is None else self._ratings.state_dict()
        state = {"pool": self._pool.state_dict(), "scores": self._scores.state_dict(), "playing": self._playing}
        return {**state, "ratings": ratings}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken; the next rollout or test chooses who plays."""
        self._pool.load_state_dict(state["pool"])
        self._scores.load_state_dict(state["scores"])
        self._playing = dict(state["playing"])
        if self._ratings is not None and state.get("ratings"):
            self._ratings.load_state_dict(state["ratings"])

    def _made_pool(self) -> Any:
        """The pool of the config, or what takes its place."""
        args = self._args
        pool = Pool(args.opponent_pool, args.opponent_interval, args.opponent_newest, args.seed)
        pool.fixed = {f"fixed_{k + 1}": self._fixed(path) for k, path in enumerate(args.opponent_models)}
        return pool

    def _take_newest(self, t_env: int) -> None:
        """Before a rollout of training: the newest model enters the pool, if that is due."""
        pool = self._pool
        if not pool.due(t_env):
            return
        pool.add(t_env, {team: self._weights(team, self._mac.teams[team].mac) for team in self._teams})
        self._files.sync(list(pool.past), self._saved)
        if self._ratings is not None:
            self._ratings.add(self._teams, str(t_env))
            self._ratings.keep(pool.tested)

    def _matches(self) -> Iterator[tuple[str, str]]:
        """Each group that learns, with each opponent."""
        for group in self._sides:
            for opponent in self._pool.tested:
                if self._others(group, opponent):
                    yield group, opponent

    def _others(self, group: str, opponent: str) -> list[str]:
        """The other groups that the opponent can play."""
        return [
            other for other, team in self._sides.items() if other != group and opponent in self._pool.opponents(team)
        ]

    def _add(self, group: str, opponent: str, info: Mapping[str, Any]) -> None:
        if self._scores.count(group, opponent) < self._nepisode:
            win = won(group, self._others(group, opponent), info)
            self._scores.add(group, opponent, win, info[f"{group}/return"])
            self._tested(group, opponent, win)

    def _tested(self, group: str, opponent: str, win: float) -> None:
        """An episode of a test against an opponent has ended."""

    def _play_as(self, models: Mapping[str, str]) -> None:
        """Let the models (group -> name) play these groups, and the newest ones all others."""
        for name, team in self._acting.teams.items():
            team.stand_ins = {}
            for group, model in models.items():
                if self._sides[group] == name:
                    team.stand_ins[group] = self._loaded(group, self._pool.weights_of(model, name))

    def _weights(self, team: str, mac: Any) -> Any:
        return copy.deepcopy(state_of(mac, self._declared[team]))

    def _loaded(self, group: str, weights: Any) -> Any:
        load_state(self._stand_ins[group], copy.deepcopy(weights), f"the opponent {group}")
        return self._stand_ins[group]

    def _fixed(self, path: str) -> Weights:
        """The weights of all teams that a folder of saved models has."""
        folder, _ = find_checkpoint(path, 0, key="opponent_models")
        self._logger.console_logger.info(f"Loading opponents from {folder}{note_of(folder)}")
        found: Weights = {}
        for team, (group, *_) in self._teams.items():
            own = folder / team if (folder / team).is_dir() else folder
            if any(own.glob("*.th")):
                self._stand_ins[group].load_models(str(own))
                require_finite(self._stand_ins[group], own)
                found[team] = self._weights(team, self._stand_ins[group])
        if not found:
            raise ConfigError(f"opponent_models: {Path(path)} has no model of {' or '.join(self._teams)}.")
        return found

    def _saved(self, step: str) -> "SavedTeams":
        """A past model, to be saved."""
        weights = self._pool.past[step]
        return SavedTeams({team: self._loaded(groups[0], weights[team]) for team, groups in self._teams.items()})


class PoolFiles:
    """The past models of a pool as saved models that other runs can load: `models/<token>/pool/<step>/`.

    Args:
        args: of the run; without `save_model` nothing is written.
        warn: takes a message: write failures do not end a run.
    """

    def __init__(self, args: Any, warn: Callable[[str], None]):
        self._folder = Path(args.local_results_path, MODELS, args.unique_token, POOL) if args.save_model else None
        self._warn = warn

    def sync(self, steps: Collection[str], model_of: Callable[[str], Any]) -> None:
        """Write the models of the steps that are missing, and remove those of other steps.

        Args:
            model_of: a step -> the model, whose `save_models(path)` writes it; called only for missing ones.
        """
        if self._folder is None:
            return
        try:
            present = {path.name for path in self._folder.iterdir()} if self._folder.is_dir() else set()
            for step in [step for step in steps if step not in present]:
                save_checkpoint(model_of(step), self._folder / step)
            for name in present - set(steps):
                shutil.rmtree(self._folder / name)
        except (OSError, RuntimeError) as error:  # torch's own for a file that cannot be written
            self._warn(f"The pool of opponents could not be saved in {self._folder}: {error}")


class SavedTeams:
    """Controllers by team, in the files of saved models."""

    def __init__(self, macs: Mapping[str, Any]):
        self._macs = macs

    def save_models(self, path: str) -> None:
        for team, mac in self._macs.items():
            folder = Path(path, team)
            folder.mkdir(exist_ok=True)
            mac.save_models(str(folder))
