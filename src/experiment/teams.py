"""Who controls the agents: PyMARL's one team, or several, each with its own algorithm (the key `teams`)."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from checkpoints.model_files import find_checkpoint
from checkpoints.model_manifests import note_of
from checks.requirements import check_requirements
from checks.teams import team_config
from components.episode_batch import EpisodeBatch
from components.sampling.compose import Minibatches
from components.team_views import TeamView
from controllers.contract import controller
from controllers.hidden_states import memory_fields
from controllers.teams import Team, TeamControllers
from envs.contract.fields import AGENTS, EnvSpec
from envs.contract.groups import has_teams, team_spec
from experiment.contracts import PlainBuffer, PlainLearner
from experiment.state import RunState
from learners.batch_fields import batch_fields, scheme_entry
from learners.non_finite import require_finite
from records.logger import Logger
from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.plain_values import quoted
from utils.tensors.tensor_trees import is_tree

# sizes that parts written for PyMARL find in their arguments; None where an environment has no honest answer
SIZES = ("n_agents", "n_actions", "state_shape", "obs_shape", "episode_limit")


@dataclass
class Member:
    """One team of a run: its config, its view of batches, and once they are built its parts.

    `name` and `view` of the only team of one of PyMARL's environments are "" and None. A frozen one has no learner.
    """

    name: str
    args: SimpleNamespace
    spec: EnvSpec
    view: TeamView | None = None
    frozen: bool = False
    mac: Any = None
    learner: Any = None
    buffer: Any = None
    plan: Any = None
    # the fields and groups of batches that its controller was made of
    made_of: tuple[dict, dict] | None = None

    def scheme(self, scheme: Mapping[str, dict]) -> dict[str, dict]:
        """The team's part of a scheme."""
        return dict(scheme) if self.view is None else self.view.scheme(scheme)

    def preprocess(self, preprocess: Mapping[str, tuple]) -> dict[str, tuple]:
        """The team's derived fields."""
        return dict(preprocess) if self.view is None else self.view.preprocess(preprocess)

    def groups(self, groups: Mapping[str, int]) -> dict[str, int]:
        return dict(groups) if self.view is None else self.view.own_groups

    def learns_from(self, batch: EpisodeBatch, learning: frozenset[str] | None) -> EpisodeBatch | None:
        """A rollout as the team sees it: with its groups among those that learn (None: all); None if there are none."""
        if self.view is None:
            return batch
        groups = [group for group in self.view.groups if learning is None or group in learning]
        return self.view.part(groups).of(batch) if groups else None

    def held_out_loss(self) -> float | None:
        """The loss on a sample that its buffer holds out; None if it holds none out, or the learner cannot say."""
        loss = PlainLearner.of(self.learner).test_loss
        if loss is None or (sample := PlainBuffer.of(self.buffer).hold_out()) is None:
            return None
        parts = list(sample) if isinstance(sample, Minibatches) else [sample]
        return sum(map(loss, parts)) / len(parts)

    def fields(self) -> dict[str, dict]:
        """Scheme entries of the extras of decisions that learner and controller need, by the paths of its groups."""
        if self.frozen:
            return {}
        sizes, remembered = self.spec.env_info, controller(self.mac).decision_fields
        own = {key: scheme_entry(f"batch_fields[{key}]", info, sizes) for key, info in remembered.items()}
        return self._by_group(own | batch_fields(self.args.learner, sizes, self.args))

    def memory_fields(self) -> dict[str, dict]:
        """Scheme entries of its controller's memory, with `keep_memory`, by the paths of its groups.

        Raises:
            ConfigError: there is no memory.
        """
        if self.frozen or not controller(self.mac).keeps_memory:
            return {}
        self.mac.init_hidden(1)
        if not is_tree(self.mac.hidden_states):
            raise ConfigError(f"keep_memory=True: agent={self.args.agent} has no memory.")
        entries = {
            key: {"vshape": tuple(leaf.shape[2:]), "dtype": leaf.dtype, "group": AGENTS, "decision": True}
            for key, leaf in memory_fields(self.mac.hidden_states, 1, self.args.n_agents).items()
        }
        return self._by_group(entries)

    def _by_group(self, own: dict[str, dict]) -> dict[str, dict]:
        if self.view is None:
            return own
        return {
            f"{group}/{key}": {**entry, "group": group} if "group" in entry else entry
            for group in self.view.groups
            for key, entry in own.items()
        }

    def logger(self, logger: Logger) -> Any:
        """The logger of its learner."""
        return TeamLogger(logger, self.name) if self.name else logger

    def register(self, state: RunState, acting_mac: Any) -> None:
        """Add its parts to the run's state; `acting_mac`: acts for all teams, if that is a copy."""
        parts = {"mac": self.mac}
        if not self.frozen:
            parts = {"learner": self.learner, "mac": self.mac, "buffer": self.buffer, "plan": self.plan}
        for name, part in parts.items():
            state.register(f"{self.name}/{name}".lstrip("/"), part)
        if acting_mac is not None and self.view is not None:
            acting_mac = acting_mac.teams[self.name].mac
        # the controller itself acted in a run that had no copy
        mac, copied = (f"{self.name}/{name}".lstrip("/") for name in ("mac", "acting_mac"))
        state.register(copied, acting_mac, optional=True, like=mac)

    def load_models(self, path: str) -> None:
        """Read its models: those in its folder of `path`, if there is one, else those in `path` itself."""
        own = os.path.join(path, self.name)
        (self.learner or self.mac).load_models(own if self.name and os.path.isdir(own) else path)


def members_of(args: SimpleNamespace, spec: EnvSpec) -> list[Member]:
    """The teams of a run; adds the environment's sizes to `args`.

    Raises:
        ConfigError: teams that do not fit the environment's groups, or parts that cannot take its declared fields.
    """
    _add_sizes(args, spec)
    if args.teams:
        members = [_member(args, spec, name) for name in args.teams]
        _check_groups(spec, members)
        if not has_teams(spec):
            raise ConfigError(
                f"teams: the agents of env={args.env} are one group, for which the run's own keys choose the parts. "
                "Leave teams out."
            )
    elif has_teams(spec):
        members = [_of_groups(args, spec, "", list(spec.groups))]
    else:
        members = [Member("", args, spec)]
    for member in members:
        check_requirements(member.spec, vars(member.args))
    return members


def controller_of(members: list[Member]) -> Any:
    """The controller that the runner asks: the only team's, or that of all."""
    teams = {member.name: Team(member.mac, member.view, member.frozen) for member in members if member.view}
    return TeamControllers(teams) if teams else members[0].mac


def load_first_models(members: list[Member], console: logging.Logger) -> None:
    """Load the models of teams with a `checkpoint_path`, for a run that starts."""
    for member in members:
        if member.name and (path := member.args.checkpoint_path):
            folder, _ = find_checkpoint(path, member.args.load_step)
            console.info(f"Loading the model of {member.name} from {folder}{note_of(folder)}")
            member.load_models(str(folder))
            require_finite(member.mac, folder)


class TeamModels:
    """Saves and loads the models of all teams, each in a folder of its name."""

    def __init__(self, members: list[Member]):
        self._members = members

    def save_models(self, path: str) -> None:
        for member in self._members:
            folder = os.path.join(path, member.name)
            os.makedirs(folder, exist_ok=True)
            (member.learner or member.mac).save_models(folder)

    def load_models(self, path: str) -> None:
        for member in self._members:
            member.load_models(path)


class TeamLogger:
    """The run's logger for one team, whose name is before those of its statistics: "red/loss"."""

    def __init__(self, logger: Logger, team: str):
        self._logger, self._team = logger, team
        self.console_logger = logger.console_logger

    def log_stat(self, key: str, value: float, t: int, to_sacred: bool = True) -> None:
        self._logger.log_stat(f"{self._team}/{key}", value, t, to_sacred)


def _member(args: SimpleNamespace, spec: EnvSpec, name: str) -> Member:
    own = args.teams[name]
    config = team_config(vars(args), name) | {key: own[key] for key in ("checkpoint_path", "load_step")}
    for group in own["groups"]:
        if group not in spec.groups:
            raise ConfigError(
                f"teams.{name}: env={args.env} has no group {quoted(group)}.{did_you_mean(group, spec.groups)} "
                f"It has: {', '.join(spec.groups)}."
            )
    return _of_groups(SimpleNamespace(**config), spec, name, own["groups"], own["frozen"])


def _of_groups(args: SimpleNamespace, spec: EnvSpec, name: str, groups: list[str], frozen: bool = False) -> Member:
    own, view = team_spec(spec, groups), TeamView(spec.groups, groups)
    args = SimpleNamespace(**vars(args))
    # a team of several groups sees each as an episode
    args.batch_size_run *= view.episodes
    _add_sizes(args, own)
    return Member(name, args, own, view, frozen)


def _check_groups(spec: EnvSpec, members: list[Member]) -> None:
    controlled = {group for member in members if member.view for group in member.view.groups}
    if idle := [group for group in spec.groups if group not in controlled]:
        raise ConfigError(f"teams: no team controls the group {idle[0]}. Every group needs one; it may be frozen.")


def _add_sizes(args: SimpleNamespace, spec: EnvSpec) -> None:
    args.meaning = spec.env_info.get("meaning")
    for key in SIZES:
        setattr(args, key, spec.env_info.get(key))
