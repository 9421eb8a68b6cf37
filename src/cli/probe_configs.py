"""The config of a run of a probe game (`envs.probes`): an algorithm's own parts, on a budget of seconds."""

from collections.abc import Mapping
from typing import Any

from checks.parts import ChosenParts
from cli.compose import Composed, compose_config, taken
from cli.config_files import panel_of
from envs.probe_entities import NAME
from envs.probe_entities import register as register_entities
from envs.probes import register
from learners import REGISTRY as LEARNERS
from modules.agents import REGISTRY as AGENTS
from utils.config.merging import config_path, recursive_dict_update
from utils.errors import ConfigError, MusterError

GAMMA = 0.5
# with these, values are in other units than rewards
SCALING = ("standardise_rewards", "standardise_returns", "normalise_rewards", "normalise_values")
# these write the time of a race into numbers that are seen, and pay for a car's way
OF_RACES = ("mini_race", "potential_shaping")
# the share by which target networks follow at least, in runs as short as these
FOLLOWS = 0.05
# what agents choose: one of two, or a number; or entities choose one of two
CHOICES, CONTINUOUS, ENTITIES = "choices", "continuous", "entities"
# an environment of Gymnasium without further packages, for files that ask one before they say what they are
CONTROL = "Pendulum-v1"
# what critics of actions or policies have values of; none remembers earlier steps
OF_ACTIONS = ("actions", "joint_policies", "own_policies", "own_actions")
OF_PICTURES = "its networks see pictures, and probes show three numbers"


class UnsuitedError(MusterError):
    """The algorithm cannot play the probes; the message is why."""


def config_of(
    game: str, n_agents: int, algorithm: str, settings: Mapping[str, Any], texts: Mapping[str, str] | None = None
) -> tuple[dict, str]:
    """The config of a probe, and its form: CHOICES, CONTINUOUS or ENTITIES.

    Raises:
        ConfigError: the algorithm or a setting is refused.
        UnsuitedError: the algorithm's networks do not take what a probe shows.
    """
    settings = _checked(settings)
    composed = _composed(algorithm, settings)
    form = _form_of(composed.config)
    composed.config |= _game_of(game, n_agents, form)
    known, given = taken(composed, settings, True, texts)
    config = recursive_dict_update(known, given)
    budget = {key: value for key, value in _budget(config).items() if key not in settings}
    return recursive_dict_update(config, budget), form


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A copy. Raises ConfigError: they choose what the probes do, which games are played and that they are tested."""
    for key in ("env", "env_args"):
        if key in settings:
            raise ConfigError(f"{key}: the probes have games of their own. --games=NAMES chooses among them.")
    if settings.get("test_nepisode") == 0:
        raise ConfigError("test_nepisode=0: the probes judge by tests. Leave it out, or use test_nepisode=1 or more.")
    return dict(settings)


def _composed(algorithm: str, settings: dict[str, Any]) -> Composed:
    """The algorithm in some environment, in whose place the probe comes; takes `cpanel` out of the settings."""
    path, panel = config_path(algorithm, "algs"), settings.pop("cpanel", {})
    known = panel_of(algorithm, path)
    if known is not None and "frame_stack" in known:
        raise UnsuitedError(OF_PICTURES)
    if known is not None and "model_name" in known:
        # Digideep's panels choose an environment, which may not be installed
        panel = {"model_name": CONTROL, **panel}
    chooses = known is not None or path.suffix == ".ron"
    return compose_config(algorithm, None if chooses else "two_step", panel, settings)


def _form_of(preset: Mapping[str, Any]) -> str:
    if preset["agent"] == "cnn":
        raise UnsuitedError(OF_PICTURES)
    if preset["mac"] == "entity_mac":
        return ENTITIES
    return CONTINUOUS if preset["mac"] == "actor_mac" and "deviation" in preset else CHOICES


def _game_of(game: str, n_agents: int, form: str) -> dict[str, Any]:
    """The keys of a config that choose it."""
    if form == ENTITIES:
        register_entities()
        kwargs = {"game": game, "n_agents": n_agents}
        return {"env": "entities", "env_args": {"environment": NAME, "kwargs": kwargs}}
    register()
    continuous = form == CONTINUOUS
    return {"env": "probe", "env_args": {"game": game, "continuous": continuous, "n_agents": n_agents}}


def without_memory(config: Mapping[str, Any]) -> str:
    """The part that has none: the agent's network, or a critic of actions or policies; "" if all have one.

    Parts that declare nothing may have one.
    """
    entry = AGENTS.entry(config["agent"])
    if entry.declared and not (entry.traits.get("memory") and config.get("use_rnn", True)):
        return f"agent={config['agent']}"
    of_actions = LEARNERS.entry(config["learner"]).traits.get("values") in OF_ACTIONS
    return f"critic={config['critic']}" if of_actions else ""


def _budget(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with which a healthy learner solves a game in seconds, in place of the preset's."""
    buffer = ChosenParts(config).name("buffer")
    on_policy = buffer == "rollout" or LEARNERS.entry(config["learner"]).traits.get("on_policy", False)
    steps = 12_000 if on_policy else 3_000 if buffer == "transitions" else 5_000
    every = steps // 20
    found: dict[str, Any] = {"seed": 1, "use_cuda": False, "t_max": steps, "timer": "off"}
    found |= {"gamma": GAMMA, "lr": 0.005, "critic_lr": 0.005, "optimizer": "adam", "rnn_hidden_dim": 32}
    found |= {"epsilon_anneal_time": steps // 2, "epsilon_finish": 0.05, "target_update_interval": 20}
    found |= dict.fromkeys(SCALING, False) | {"tune_entropy": False, "entropy_weight": 0.01}
    found |= {"test_nepisode": 64, "test_interval": steps, "log_interval": steps, "runner_log_interval": every}
    found |= {"learner_log_interval": every, "save_model": False, "last_checkpoint": False}
    found |= {
        "batch_size_run": 32 if buffer == "rollout" else 8,
        "runner": config["runner"],
        "vector_env": "in_process",
    }
    if config.get("collection") == "collectors":
        found["collection"] = "sync"  # their processes take longer to start than a probe to play
    if config["runner"] == "episode":
        found["runner"] = "parallel"
    if buffer == "rollout" and config["runner"] == "rollout":
        # whole episodes of two steps and their closing state: each step counts alike in means
        found["rollout_steps"] = 6
        if (config.get("chunk_length") or 0) > 1:
            found["chunk_length"] = 6
    if buffer == "transitions":
        found |= {"batch_size": 64, "samples_per_insert": 32, "random_steps": 200, "critic_hidden_dim": 32}
        found |= {"buffer_size": steps, "buffer_min": 200}
    found["add_value_last_step"] = None  # EPyMARL's presets bootstrap past the end, and their values are its
    found["sample_transforms"] = [
        one for one in config.get("sample_transforms") or [] if not (isinstance(one, Mapping) and {*one} & {*OF_RACES})
    ]
    if config["mac"] == "mat_mac":
        found["lr"] = 0.001  # with more, a transformer whose agents decide in turn loses what it has learned
    if "epochs" in config:
        found["epochs"] = min(config["epochs"], 4)  # of more, this learning rate makes too much
    if config.get("epsilon") is not None:
        found["epsilon"] = [[0, 1.0], [steps // 2, 0.05]]
    if 0 < (config.get("target_update_interval_or_tau") or 0) < FOLLOWS:
        found["target_update_interval_or_tau"] = FOLLOWS
    return {key: value for key, value in found.items() if key in config or key == "seed"}
