"""Which team controls which groups of agents, with which algorithm: the key `teams`.

    teams:
      trucks: {config: qmix, lr: 0.001}
      drones: {config: my_config.yaml, groups: [scouts, carriers]}
      rivals: {checkpoint_path: results/models/<token>, frozen: True}

A team's keys are those of the run, then those of its preset, then its own. Keys that belong to the run as a whole, its
runner, say, are the run's alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from checks.machine import check_checkpoint
from checks.options import completed
from checks.pairings import check_pairings
from checks.parts import ChosenParts
from checks.registries import REGISTRIES
from checks.sizes import check_sizes
from checks.values import normalised
from utils.config.merging import CHOOSING, config_path
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.files.file_names import require_plain_name
from utils.files.yaml_files import load_yaml
from utils.nearest import did_you_mean
from utils.plain_values import quoted

# keys of a team alone: its groups, its preset, its saved weights, and whether they stay frozen
OWN = {"groups": [], "config": "", "checkpoint_path": "", "load_step": 0, "frozen": False}
UNTYPED = ("groups", "config", "frozen")  # keys that a run does not have
# the parts of a team, and when it learns; besides, a team sets the options of these parts
PARTS = ("mac", "agent", "action_selector", "learner", "mixer", "critic", "intrinsic", "buffer")
CHOSEN = ("mac", "learner", "buffer", "updates_per_rollout", "samples_per_insert", "replay_pace")


def expanded(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The config's teams with all keys of their presets, in their declared types.

    Raises:
        ConfigError: an invalid team, with the key.
    """
    teams = config["teams"]
    if not isinstance(teams, Mapping) or not all(isinstance(own, Mapping) for own in teams.values()):
        raise ConfigError(f"teams={quoted(str(teams))}: it must be a mapping of teams to their keys.")
    found = {name: _expanded(config, name, dict(own)) for name, own in teams.items()}
    taken: dict[str, str] = {}
    for name, own in found.items():
        for group in own["groups"]:
            if taken.setdefault(group, name) != name:
                raise ConfigError(f"teams: {taken[group]} and {name} both control the group {quoted(group)}.")
    return found


def team_config(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The config of the parts of one team of an expanded config."""
    own = {key: value for key, value in config["teams"][name].items() if key not in OWN}
    return completed({**config, **own, "teams": {}})


def _expanded(config: Mapping[str, Any], name: str, own: dict[str, Any]) -> dict[str, Any]:
    with of_team(name):
        require_plain_name("the team", name)
        preset = _preset(own["config"]) if own.get("config") else {}
        merged = {**config, **preset, **own, "teams": {}}
        allowed = {*OWN, *CHOSEN, *_options(merged)}
        for key in own:
            # a resumed run's teams have their presets' keys already
            if key not in allowed and not (key in PARTS and key in preset and own[key] == preset[key]):
                raise ConfigError(f"{quoted(key)} is not a key of a team.{did_you_mean(key, allowed)}")
        # a part that the preset leaves out, such as the mixer, is not the run's
        keys = {**{key: value for key, value in preset.items() if key in allowed or key in PARTS}, **own}
        keys = {"checkpoint_path": "", "load_step": 0, **keys}
        typed = {key: value for key, value in keys.items() if key not in UNTYPED}
        checked = normalised(completed({**config, **typed, "teams": {}}))
        parts = ChosenParts(checked)
        check_pairings(parts)
        check_sizes(parts)
        if not config["evaluate"]:  # which loads all teams from one place
            check_checkpoint(checked)
        entry = {**OWN, **{key: keys[key] if key in UNTYPED else checked[key] for key in keys}}
        entry["groups"] = _groups(entry["groups"] or [name])
        if not isinstance(entry["frozen"], bool):
            raise ConfigError(f"frozen={quoted(str(entry['frozen']))}: it must be True or False.")
        if entry["frozen"] and not entry["checkpoint_path"]:
            raise ConfigError("frozen=True needs a checkpoint_path, from which it plays.")
    return entry


def _preset(name: str) -> dict[str, Any]:
    path = config_path(name, "algs")
    if path.suffix in CHOOSING:
        kind = "a parameter file" if path.suffix == ".py" else "a config of enn-trainer"
        raise ConfigError(f"config={quoted(name)}: a team's preset is a YAML file, not {kind}.")
    return with_new_names(load_yaml(path))


def _options(config: Mapping[str, Any]) -> Iterator[str]:
    """The keys that a team's parts read."""
    parts = ChosenParts(config)
    for kind in PARTS:
        yield from REGISTRIES[kind].options
        yield from parts.reads(kind) or ()


def _groups(groups: Any) -> list[str]:
    groups = [groups] if isinstance(groups, str) else groups
    if not isinstance(groups, list | tuple) or not all(isinstance(group, str) for group in groups):
        raise ConfigError(f"groups={quoted(str(groups))}: it must be a list of group names.")
    return list(groups)


@contextmanager
def of_team(name: Any) -> Iterator[None]:
    """Errors of this team's config begin with its name; "": the only team of a run without names."""
    try:
        yield
    except ConfigError as error:
        if name == "":
            raise
        raise ConfigError(f"teams.{quoted(str(name))}: {error}") from None
