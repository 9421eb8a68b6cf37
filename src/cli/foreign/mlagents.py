"""ML-Agents' trainer files (`behaviors:`) as configs: each key becomes the one that means the same here.

Source: `settings.py` and `cli_utils.py` of ML-Agents' trainer, whose defaults are those of keys that a file leaves out.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from cli.foreign.mlagents_run import of_whole_run
from cli.foreign.mlagents_sections import TABLE, Section
from envs.asking import ask_environment
from utils.config.merging import recursive_dict_update
from utils.errors import ConfigError
from utils.files.written_numbers import plain
from utils.plain_values import quoted

# what the files of ML-Agents leave out
TRAINER: dict[str, Any] = {
    "trainer_type": "ppo",
    "hyperparameters": {},
    "network_settings": {},
    "reward_signals": {"extrinsic": {}},
    "max_steps": 500000,
    "time_horizon": 64,
    "summary_freq": 50000,
    "checkpoint_interval": 500000,
    "keep_checkpoints": 5,
}
PPO: dict[str, Any] = {
    "batch_size": 1024,
    "buffer_size": 10240,
    "learning_rate": 3e-4,
    "learning_rate_schedule": "linear",
    "beta": 5e-3,
    "epsilon": 0.2,
    "lambd": 0.95,
    "num_epoch": 3,
    "shared_critic": False,
}
NETWORK: dict[str, Any] = {"normalize": False, "hidden_units": 128, "num_layers": 2}
MEMORY = {"sequence_length": 64, "memory_size": 128}
# the values to which a linear schedule falls at max_steps
LEAST_LR, LEAST_BETA, LEAST_EPSILON = 1e-10, 1e-5, 0.1
# PPO as that trainer has it, beyond what its files say: gradients and values as they are, Adam's own epsilon
BEYOND = {"grad_norm_clip": 1e9, "normalise_values": False, "optim_eps": 1e-8}


def is_trainer_file(content: Mapping[str, Any]) -> bool:
    """Whether a config file is one of ML-Agents' trainer."""
    return "behaviors" in content or "default_settings" in content


def trainer_config(
    path: Path,
    content: Mapping[str, Any],
    preset: Mapping[str, Any],
    environment: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> tuple[dict, str]:
    """The config that a trainer file says, over that of the preset PPO, and a note on keys without effect.

    The file counts the decisions of all agents, a run the turns of its simulators. So the simulator is started once and
    asked for its agents; without one (an editor), `t_max` after `with` says how many there are.

    Args:
        content: as it was read.
        preset, environment: the config of PPO, and that of the environment's file.
        settings: those after `with`, nested, which go first.

    Raises:
        ConfigError: a key has no counterpart, or an invalid value; or the behaviours cannot be trained together.
    """
    file = Section(path, "", "run", dict(plain(dict(content))))
    defaults, listed = file.section("default_settings"), file.section("behaviors")
    if not all(own is None or isinstance(own, Mapping) for own in listed.values.values()):
        raise ConfigError(f"{path}: behaviors: each must be a mapping of keys to values.")
    of_run = of_whole_run(file)
    if listed.values:
        of_run["env_args"]["behaviours"] = list(listed.values)
    own = {
        name: recursive_dict_update(recursive_dict_update({}, defaults.values), values or {})
        for name, values in (listed.values or {"": {}}).items()
    }
    read = {}
    for name, values in own.items():
        where = f"behaviors.{name}" if name else "default_settings"
        read[name] = _read(Section(path, where, "behavior", values, file.idle, file.otherwise))
    turns = _Turns(path, of_run, environment, settings)
    found = {
        name: _converted(entry, turns.agents_of(name, entry.counts["max_steps"]), turns) for name, entry in read.items()
    }
    shared = {name: of_run_too for name, (of_run_too, _) in found.items()}
    first, *others = shared.items()
    for name, values in others:
        for key, value in values.items():
            if value != first[1][key]:
                raise ConfigError(
                    f"{path}: the behaviours {first[0]} and {name} need different {key} ({first[1][key]} and {value}), "
                    f"and they are trained in one run. Give them the same max_steps, buffer_size and so on. {TABLE}"
                )
    config = recursive_dict_update(recursive_dict_update(recursive_dict_update({}, preset), of_run), first[1])
    if len(found) == 1:
        config |= found[first[0]][1]
    else:
        config["teams"] = {
            turns.group_of(name): {"groups": [turns.group_of(name)], "config": "ppo", **learned}
            for name, (_, learned) in found.items()
        }
    idle = list(dict.fromkeys(file.idle))
    notes = [f"Without effect here: {', '.join(idle)}."] if idle else []
    notes += [f"Different here: {'; '.join(file.otherwise)}."] if file.otherwise else []
    note = " ".join([f"{path}:", *notes, TABLE]) if notes else ""
    return {**config, "name": path.stem}, note


@dataclass
class _Behaviour:
    """A behaviour's entry: what it counts, keys of the learner, and epsilon, which may fall until the end."""

    section: Section
    counts: dict[str, int]
    learned: dict[str, Any]
    epsilon: float
    falls: bool


class _Turns:
    """From decisions of all agents of a behaviour to turns of the run's simulators.

    `given`: the run's turns, if the command line has them.
    """

    def __init__(
        self, path: Path, of_run: Mapping[str, Any], environment: Mapping[str, Any], settings: Mapping[str, Any]
    ):
        self._path = path
        copies = settings.get("batch_size_run")
        self.copies = copies if _is_count(copies) else of_run["batch_size_run"]
        self._env_args: dict[str, Any] = {}
        for given in (environment.get("env_args"), of_run["env_args"], settings.get("env_args")):
            self._env_args |= given if isinstance(given, Mapping) else {}
        self._groups: dict[str, int] | None = None
        t_max = settings.get("t_max")
        self.given = t_max if _is_count(t_max) else None

    def group_of(self, behaviour: str) -> str:
        from envs.dots.fields import group_names  # with what simulators need, which other runs do without

        return group_names(self._env_args["behaviours"])[behaviour]

    def agents_of(self, behaviour: str, max_steps: int) -> float:
        """How many agents of it one simulator has."""
        if self._env_args.get("executable") is None:
            if self.given is None:
                raise ConfigError(
                    f"{self._path}: max_steps counts the decisions of all agents, and how many there are is unknown "
                    f"until the editor plays. Give the run's turns: with t_max={max_steps} for one agent, a tenth of "
                    "that for ten. Or name a simulator: with env_args.executable=PATH."
                )
            return max_steps / self.given
        if self._groups is None:
            self._groups = dict(ask_environment("dots", **self._env_args).groups)
        if len(self._groups) == 1 or not behaviour:
            return sum(self._groups.values())
        return self._groups[self.group_of(behaviour)]


def _is_count(value: Any) -> TypeGuard[int]:
    """What else it may be is refused later."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _read(section: Section) -> _Behaviour:
    """A behaviour's entry, all of whose keys have a counterpart."""
    kind = section.take("trainer_type", TRAINER["trainer_type"])
    if kind != "ppo":
        reason = {
            "sac": "SAC replays old experience, and agents of DOTS, which come and go, are learned from as they play.",
            "poca": "Agents of DOTS belong to no groups with a common reward.",
        }.get(kind, "There is no such type.")
        raise ConfigError(
            f"{section.file}: {section.name('trainer_type')} is {quoted(kind)}. {reason} Use trainer_type: ppo. {TABLE}"
        )
    counts = {
        key: section.number(key, TRAINER[key], whole=True, least=1)
        for key in ("max_steps", "time_horizon", "summary_freq", "checkpoint_interval", "keep_checkpoints")
    }
    hyper = section.section("hyperparameters")
    counts |= {key: hyper.number(key, PPO[key], whole=True, least=1) for key in ("batch_size", "buffer_size")}
    if counts["batch_size"] > counts["buffer_size"]:
        raise ConfigError(f"{section.file}: {hyper.name('batch_size')} is larger than buffer_size.")
    learned, epsilon = _hyperparameters(hyper)
    learned |= _network(section.section("network_settings"))
    learned |= _rewards(section.section("reward_signals", default=TRAINER["reward_signals"]))
    section.end()
    return _Behaviour(section, counts, {**BEYOND, **learned}, *epsilon)


def _converted(read: _Behaviour, agents: float, turns: _Turns) -> tuple[dict, dict]:
    """The keys of the run, and those of the learner; `agents` of the behaviour are in one simulator."""
    counts, learned, section = read.counts, read.learned, read.section
    in_turns = lambda decisions: max(1, round(decisions / agents))  # noqa: E731
    t_max, summary = turns.given or in_turns(counts["max_steps"]), in_turns(counts["summary_freq"])
    # whole parts of the length that memories are learned over
    chunk = learned.get("chunk_length", 1)
    rollout = math.ceil(counts["buffer_size"] / (agents * turns.copies) / chunk) * chunk
    # a part has all agents of a simulator
    minibatches, parts = counts["buffer_size"] // counts["batch_size"], turns.copies * rollout // chunk
    if minibatches > parts:
        decisions = math.ceil(counts["buffer_size"] / parts)
        section.otherwise.append(
            f"{section.name('hyperparameters')}.batch_size: {decisions}, those of all agents in some turns"
        )
    if counts["time_horizon"] < rollout:
        reach = f"advantages reach to the end of a rollout, {rollout} turns"
        section.otherwise.append(f"{section.name('time_horizon')}: {reach}")
    of_run = {
        "t_max": t_max,
        "rollout_steps": rollout,
        "log_interval": summary,
        "runner_log_interval": summary,
        "learner_log_interval": summary,
        "checkpoint_interval": in_turns(counts["checkpoint_interval"]),
        "keep_checkpoints": counts["keep_checkpoints"],
    }
    clip = [[0, read.epsilon], [t_max, LEAST_EPSILON]] if read.falls else read.epsilon
    return of_run, {**learned, "minibatches": min(minibatches, parts), "eps_clip": clip}


def _hyperparameters(hyper: Section) -> tuple[dict, tuple[float, bool]]:
    """The keys of the learner; and epsilon, with whether it falls until the end."""
    rate, beta = hyper.number("learning_rate", PPO["learning_rate"]), hyper.number("beta", PPO["beta"])
    schedules = ("linear", "constant")
    of_rate = hyper.choice("learning_rate_schedule", PPO["learning_rate_schedule"], schedules)
    of_beta, of_epsilon = (hyper.choice(f"{key}_schedule", of_rate, schedules) for key in ("beta", "epsilon"))
    epsilon = hyper.number("epsilon", PPO["epsilon"]), of_epsilon == "linear"
    found = {
        "lr": rate,
        "critic_lr": rate,
        "lr_finish": LEAST_LR if of_rate == "linear" else None,
        "entropy_coef": beta,
        "entropy_finish": LEAST_BETA if of_beta == "linear" else None,
        "gae_lambda": hyper.number("lambd", PPO["lambd"]),
        "epochs": hyper.number("num_epoch", PPO["num_epoch"], whole=True, least=1),
        "critic": "trunk" if hyper.choice("shared_critic", PPO["shared_critic"], (True, False)) else "own",
    }
    hyper.end()
    return found, epsilon


def _network(network: Section) -> dict:
    units = network.number("hidden_units", NETWORK["hidden_units"], whole=True)
    layers = network.number("num_layers", NETWORK["num_layers"], whole=True)
    if layers != NETWORK["num_layers"]:
        network.otherwise.append(f"{network.name('num_layers')}: {layers} of the policy, 2 of the critic")
    found = {
        "normalise_observations": network.choice("normalize", NETWORK["normalize"], (True, False)),
        "agent": "ff",
        "rnn_hidden_dim": units,
        "critic_hidden_dim": units,
        "hidden_layers": layers,
    }
    if network.values.get("memory") in (None, False):
        network.take("memory")
        network.end()
        return found
    memory = network.section("memory")
    length, size = (memory.number(key, MEMORY[key], whole=True) for key in ("sequence_length", "memory_size"))
    memory.end()
    network.end()
    if size < 2 or size % 2:
        raise ConfigError(f"{network.file}: {memory.name('memory_size')} is {size}; it must be an even number above 0.")
    # theirs is the state and the cell of an LSTM, and here one width is that of the layer before it, too
    del found["hidden_layers"]
    if units != size // 2 or layers != 1:
        network.otherwise.append(
            f"{network.where}: the policy has one layer before its memory, of memory_size / 2 = {size // 2} units"
        )
    return {**found, "agent": "lstm", "rnn_hidden_dim": size // 2, "chunk_length": length}


def _rewards(signals: Section) -> dict:
    extrinsic = signals.section("extrinsic")
    gamma, strength = extrinsic.number("gamma", 0.99), extrinsic.number("strength", 1.0)
    if strength != 1:
        raise ConfigError(
            f"{signals.file}: {extrinsic.name('strength')} is {strength:g}; it must be 1, as rewards are not scaled "
            f"here. {TABLE}"
        )
    extrinsic.end()
    signals.end()
    return {"gamma": gamma}
