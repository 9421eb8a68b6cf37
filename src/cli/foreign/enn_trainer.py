"""enn-trainer's configs (RON files, as of `enn_trainer.train --config`) as configs of `enn_ppo`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkpoints.enn_checkpoints import is_enn_checkpoint
from utils.config.enn_trainer_keys import KEYS, OLDER_POSITIONS, PAGE, VERSION
from utils.config.merging import config_path
from utils.errors import ConfigError
from utils.files.ron_files import Struct, load_ron
from utils.files.written_numbers import plain
from utils.files.yaml_files import load_yaml
from utils.nearest import suggestion
from utils.plain_values import quoted

PRESET = "enn_ppo"
SECTIONS = ("env", "net", "optim", "ppo", "rollout", "eval", "vf_net")
# sections that are not there unless the file has them
OPTIONAL = ("eval", "vf_net")
NUMBER = (int, float)
# keys that change nothing here; what stands for them is in the table
WITHOUT_EFFECT = (
    "env.validate",
    "optim.micro_bs",
    "rollout.processes",
    "eval.processes",
    "eval.capture_videos",
    "eval.run_on_first_step",
    "torch_deterministic",
    "trial",
    "data_dir",
    "cuda_empty_cache",
)


def load_enn_config(path: Path) -> tuple[dict[str, Any], str]:
    """The config that an enn-trainer config stands for, over the preset `enn_ppo`, and what to say of it.

    Raises:
        ConfigError: it is no such config, or has a setting without counterpart; the message names the key.
    """
    theirs = read_theirs(path)
    _refuse_missing(path, theirs)
    if "vf_net.d_model" in theirs and is_enn_checkpoint(path.parent):
        # enn-trainer builds the value function by `net`, whatever vf_net says
        theirs |= {f"vf_{key}": value for key, value in theirs.items() if key.startswith("net.")}
    config = {**load_yaml(config_path(PRESET, "algs")), **_network_keys(theirs), **_learning_keys(path, theirs)}
    config |= {
        "env": "entities",
        "env_args": {"environment": theirs["env.id"], "kwargs": _kwargs(path, theirs["env.kwargs"])},
        "seed": theirs["seed"],
        "use_cuda": theirs["cuda"],
        "t_max": theirs["total_timesteps"],
        "batch_size_run": theirs["rollout.num_envs"],
        "rollout_steps": theirs["rollout.steps"],
    }
    if theirs["name"] != KEYS["name"].default:
        config["name"] = theirs["name"]
    if theirs["max_train_time"] is not None:
        config["max_hours"] = _number(path, theirs, "max_train_time") / 3600
    if theirs["track"]:
        own = {"use_wandb": True, "wandb_project": theirs["wandb_project_name"], "wandb_team": theirs["wandb_entity"]}
        config |= own | {"wandb_mode": "online"}
    if "eval.interval" in theirs:
        envs = theirs["rollout.num_envs"] if theirs["eval.num_envs"] is None else theirs["eval.num_envs"]
        config |= {"test_interval": theirs["eval.interval"], "test_nepisode": envs}
    return config, _note(path, theirs)


def read_theirs(path: Path) -> dict[str, Any]:
    """Every key of the config, "a.b" -> value, with the defaults of its version; those of `vf_net` and `eval` only if
    it has these sections.

    Raises:
        ConfigError: it is no config of enn-trainer, or has a key that enn-trainer does not know.
    """
    content = load_ron(path)
    if not isinstance(content, Struct) or content.name not in ("", "TrainConfig", "ExperimentConfig"):
        raise ConfigError(f"{path} is no config of enn-trainer, which would be a TrainConfig(...).")
    version = content.get("version")
    if type(version) is not int or not 0 <= version <= VERSION:
        raise ConfigError(f"{path}: version is {quoted(version)}: expected a whole number from 0 to {VERSION}.")
    given: dict[str, Any] = {}
    for key, value in content.items():
        if key in SECTIONS and not (key in OPTIONAL and value is None):
            if not isinstance(value, Struct):
                raise ConfigError(f"{path}: {key} is {quoted(value)}: expected a section, {key}: (...).")
            given |= {f"{key}.{below}": inner for below, inner in value.items()}
        elif key not in ("version", *OPTIONAL):
            given[key] = value
    for key in given:
        if key not in KEYS:
            section = [name for name in KEYS if name.rpartition(".")[0] == key.rpartition(".")[0]]
            raise ConfigError(f"{path}: enn-trainer has no key '{quoted(key)}'.{suggestion(key, section)}")
    there = {key.partition(".")[0] for key in given} | {key for key in content if content[key] is not None}
    theirs = {
        key: plain(given[key]) if key in given else _default(key, version, there)
        for key in KEYS
        if key.partition(".")[0] not in OPTIONAL or key.partition(".")[0] in there
    }
    for net in ("net", "vf_net"):
        positions = theirs.get(f"{net}.relpos_encoding")
        if isinstance(positions, dict):
            older = {key: old for key, (last, old) in OLDER_POSITIONS.items() if version <= last}
            theirs[f"{net}.relpos_encoding"] = {**older, **positions}
    return theirs


def _default(key: str, version: int, sections: set[str]) -> Any:
    """The default of a key that a file does not have: enn-trainer keeps an old one only in sections that are there."""
    theirs, section = KEYS[key], key.partition(".")[0]
    if theirs.older is not None and ("." not in key or section in sections):
        last, old = theirs.older
        return old if version <= last else theirs.default
    return theirs.default


def _refuse_missing(path: Path, theirs: Mapping[str, Any]) -> None:
    """Refuse what has no counterpart, unless it is as it is by default."""
    for key, value in theirs.items():
        known = KEYS[key]
        without = not known.ours or key.endswith("capture_samples")
        if without and value != known.default and not (key == "eval.env" and _same_env(theirs)):
            instead = f" Instead: {known.ours}." if known.ours else ""
            raise ConfigError(f"{path}: {key}={quoted(value)} has no counterpart here ({PAGE}).{instead}")
    for key in ("rollout.num_envs", "rollout.steps", "optim.bs"):
        if type(theirs[key]) is not int or theirs[key] < 1:
            raise ConfigError(f"{path}: {key} is {quoted(theirs[key])}: expected a whole number from 1.")
    if theirs["optim.bs"] > theirs["rollout.num_envs"] * theirs["rollout.steps"]:
        raise ConfigError(
            f"{path}: optim.bs={theirs['optim.bs']} is more than the frames of a rollout, "
            f"rollout.num_envs={theirs['rollout.num_envs']} times rollout.steps={theirs['rollout.steps']}."
        )


def _same_env(theirs: Mapping[str, Any]) -> bool:
    own = theirs["eval.env"]
    return all(value == theirs.get(f"env.{key}", value) for key, value in own.items())


def _network_keys(theirs: Mapping[str, Any]) -> dict[str, Any]:
    net = {key.partition(".")[2]: value for key, value in theirs.items() if key.startswith("net.")}
    of_values = {key.partition(".")[2]: value for key, value in theirs.items() if key.startswith("vf_net.")}
    return net | ({"critic": "entities", "vf_net": of_values} if of_values else {})


def _learning_keys(path: Path, theirs: Mapping[str, Any]) -> dict[str, Any]:
    frames = theirs["rollout.num_envs"] * theirs["rollout.steps"]
    annealed = theirs["ppo.anneal_entropy"]
    if annealed and isinstance(theirs["ppo.ent_coef"], str):
        raise ConfigError(
            f"{path}: ppo.ent_coef is a schedule: set ppo.anneal_entropy: false, the schedule has it all."
        )
    return {
        "lr": theirs["optim.lr"],
        "lr_finish": 0.0 if theirs["optim.anneal_lr"] else None,
        "minibatches": -(-frames // theirs["optim.bs"]),
        "epochs": theirs["optim.update_epochs"],
        "grad_norm_clip": theirs["optim.max_grad_norm"],
        "gamma": theirs["ppo.gamma"],
        "gae_lambda": theirs["ppo.gae_lambda"] if theirs["ppo.gae"] else 1.0,
        "normalise_advantages_per_minibatch": theirs["ppo.norm_adv"],
        "eps_clip": _schedule(path, "ppo.clip_coef", theirs["ppo.clip_coef"]),
        "value_clip": theirs["ppo.clip_vloss"],
        "entropy_coef": _schedule(path, "ppo.ent_coef", theirs["ppo.ent_coef"]),
        "entropy_finish": 0.0 if annealed else None,
        # their value loss is half a squared error, ours a whole one
        "value_coef": _number(path, theirs, "ppo.vf_coef") / 2,
        "target_kl": theirs["ppo.target_kl"] or 0.0,
    }


def _schedule(path: Path, key: str, value: Any) -> Any:
    """A number as it is; hyperstate's `step: 0.3@0 lin 0.1@1e6` as a schedule here.

    Raises:
        ConfigError: it is over something else than steps, or of a kind that has no counterpart.
    """
    if not isinstance(value, str):
        return value
    name, _, points = value.partition(":")
    kinds, found = {"lin"} if " " in points.strip() else set(), []
    words = points.split()
    if set(words) & {"lin", "step", "cos"}:
        kinds = {word for word in words if "@" not in word}
    try:
        for word in words:
            if "@" in word:
                number, _, step = word.partition("@")
                found.append([float(step), float(number)])
    except ValueError:
        kinds = set()
    if name.strip() != "step" or len(found) < 2 or kinds not in ({"lin"}, {"step"}):
        raise ConfigError(
            f"{path}: {key}={quoted(value)}: a schedule that has a counterpart here is of the form "
            "'step: 0.3@0 lin 0.1@1e6', over steps and all lin or all step."
        )
    return ["staircase", *found[:-1]] if kinds == {"step"} else found


def _kwargs(path: Path, text: Any) -> dict[str, Any]:
    try:
        kwargs = json.loads(text)
    except (TypeError, ValueError):
        kwargs = None
    if not isinstance(kwargs, dict):
        raise ConfigError(f"{path}: env.kwargs is {quoted(text)}: expected a text of JSON, such as '{{\"width\": 8}}'.")
    return kwargs


def _number(path: Path, theirs: Mapping[str, Any], key: str) -> float:
    if type(theirs[key]) not in NUMBER:
        raise ConfigError(f"{path}: {key} is {quoted(theirs[key])}: expected a number.")
    return theirs[key]


def _note(path: Path, theirs: Mapping[str, Any]) -> str:
    """What the config says that acts otherwise here."""
    frames, size = theirs["rollout.num_envs"] * theirs["rollout.steps"], theirs["optim.bs"]
    said = []
    if frames % size:
        said.append(f"minibatches are of {frames // -(-frames // size)} frames, not {size}: all as large")
    if "eval.interval" in theirs:
        said.append("tests play whole episodes, not eval.steps")
    if theirs["max_train_time"] is not None:
        said.append("learning rate and entropy fall by steps, not by max_train_time")
    unused = [key for key in WITHOUT_EFFECT if key in theirs and theirs[key] != KEYS[key].default]
    if unused:
        said.append(f"{', '.join(unused)} have no effect" if unused[1:] else f"{unused[0]} has no effect")
    return f"{path}: read as {PRESET} ({PAGE})." + (f" Otherwise here: {'; '.join(said)}." if said else "")
