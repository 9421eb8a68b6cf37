"""Parameter files that were written for Digideep (commit e42f10a): what they import, and the tree that they return.

Such a file asks `digideep.environment.MakeEnvironment` for spaces. Its tree (`env`, `runner`, `agents`, `memory`,
`explorer`) becomes the panel of the preset that stands for its agent, leaf by leaf; a leaf without counterpart is
refused.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from cli.foreign.digideep_leaves import (
    DDPG,
    EGREEDY,
    FIXED,
    IGNORED,
    OPTIMISER_LEAVES,
    OPTIMISERS,
    PANEL,
    PPO,
    PRESETS,
    SAC,
    WRAPPERS,
)
from envs.asking import ask_environment
from envs.contract.fields import FieldSpec
from utils.config.digideep_panel import PAGE, RUNNER, WHOLE, environment_of
from utils.config.merging import flatten
from utils.errors import ConfigError
from utils.plain_values import quoted

# keys that a panel of theirs may get, and that its file may not have
OPTIONAL = {"from_module": "", "from_params": False, "runner_name": RUNNER}
# of keys that not every preset's panel has, the values that change nothing
NEUTRAL = {"keep_old_checkpoints": False, "frame_stack": 1}
TREE = {"env", "runner", "agents", "memory", "explorer"}


class MakeEnvironment:
    """What a parameter file asks of Digideep's class: the spaces of an environment."""

    def __init__(self, session: Any, mode: Any, seed: int, **params: Any):
        self._params = params

    def get_config(self) -> dict[str, Any]:
        """Digideep's dictionary of action and observation spaces, by paths such as "/agent" or "/camera"."""
        env = self._params
        panel = {
            "model_name": env["name"],
            "from_module": env["from_module"],
            "from_params": env["from_params"],
            "observation_key": WHOLE,
            "time_limit": None,
        }
        spec = ask_environment("gymnasium", **environment_of(panel))
        observations = {
            WHOLE if path == "obs" else path.removeprefix("obs"): _described(field)
            for path, field in spec.of_kind("observation").items()
            if path == "obs" or path.startswith("obs/")
        }
        above = {path.rpartition("/")[0] for path in observations} - {""}
        for path in above:  # as WrapperLevelDictObs joins the parts below
            size = sum(math.prod(part["dim"]) for below, part in observations.items() if below.startswith(f"{path}/"))
            observations[path] = {"typ": "Box", "dim": (size,), "lim": ([-math.inf] * size, [math.inf] * size)}
        return {
            "env_type": "gymnasium",
            "action_space": {"agent": _described(spec.fields["actions"])} if "actions" in spec.fields else {},
            "observation_space": observations,
            "max_episode_steps": spec.episode_limit,
        }


def _described(field: FieldSpec) -> dict[str, Any]:
    if field.categorical:
        return {"typ": "Discrete", "dim": field.n, "lim": (math.nan, math.nan)}
    low, high = (
        np.broadcast_to(np.reshape(other if bound is None else bound, -1), (math.prod(field.shape),))
        for bound, other in ((field.low, -math.inf), (field.high, math.inf))
    )
    shape = field.shape
    return {"typ": "Box", "dim": shape, "lim": (low.reshape(shape).tolist(), high.reshape(shape).tolist())}


class _Module(ModuleType):
    """A module of Digideep's while a parameter file runs."""

    def __init__(self, name: str, parts: Mapping[str, Any]):
        super().__init__(name)
        self.__path__ = []
        self._parts = parts

    def __getattr__(self, part: str) -> Any:
        if part.startswith("__"):
            raise AttributeError(part)
        if part not in self._parts:
            raise ConfigError(f"{self.__name__}.{quoted(part)} has no counterpart of that name here ({PAGE})")
        return self._parts[part]


@contextmanager
def digideep_modules() -> Iterator[None]:
    """Let `digideep.environment` be what stands for it here.

    Raises:
        ConfigError: another part of Digideep is imported.
    """
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "digideep"}
    environment = _Module("digideep.environment", {"MakeEnvironment": MakeEnvironment})
    sys.modules["digideep"] = _Module("digideep", {"environment": environment})
    sys.modules["digideep.environment"] = environment
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "digideep":
            raise
        raise ConfigError(f"the module {error.name} has no counterpart of that name here ({PAGE})").with_traceback(
            error.__traceback__
        ) from error
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "digideep"]:
            del sys.modules[name]
        sys.modules.update(before)


def is_theirs(module: ModuleType) -> bool:
    """Whether a parameter file took something from Digideep."""
    return any(value is MakeEnvironment or isinstance(value, _Module) for value in vars(module).values())


def is_tree(made: Any) -> bool:
    """Whether this is Digideep's tree of parameters."""
    return isinstance(made, Mapping) and set(made) >= TREE


def taken_from(tree: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name of the preset that stands for a tree of parameters, values of its panel, and config keys beside.

    Raises:
        ConfigError: a leaf has no counterpart, or not with this value.
    """
    kind, leaves = _leaves(tree)
    panel: dict[str, Any] = {}
    beside: dict[str, Any] = {"optim_eps": 1e-8, "optimizer": "adam"}  # Adam's own, where a file sets none
    origin: dict[str, str] = {}
    for leaf, value in leaves.items():
        rule = {**PANEL[""], **PANEL[kind]}.get(leaf)
        if rule:
            if rule in panel and panel[rule] != value:
                raise ConfigError(
                    f"{origin[rule]}={quoted(panel[rule])} and {leaf}={quoted(value)} are one number here"
                )
            panel[rule], origin[rule] = value, leaf
        elif leaf in FIXED:
            expected, instead = FIXED[leaf]
            if value not in expected:
                raise ConfigError(f"{leaf}={quoted(value)} has no counterpart here: {instead} ({PAGE})")
        elif not _learning(leaf, value, beside) and not any(part.fullmatch(leaf) for part in IGNORED):
            raise ConfigError(f"{leaf}={quoted(value)} has no counterpart here ({PAGE})")
    beside |= _of_targets(kind, panel, leaves) | _of_noise(kind, panel, leaves)
    beside |= _of_wrappers(tree["env"], kind, panel)
    if kwargs := _kwargs(tree["explorer"]):
        beside["env_args"] = {"kwargs": kwargs}
    return _preset(kind, tree), panel, beside


def of_panel(panel: Mapping[str, Any], values: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """A preset's panel with the values that a tree has.

    Raises:
        ConfigError: it has no such key, so only a value that changes nothing will do.
    """
    for key, value in values.items():
        if key not in panel and value != NEUTRAL[key]:
            raise ConfigError(f"{key}={quoted(value)} has no counterpart in {preset} ({PAGE})")
    return {**panel, **{key: value for key, value in values.items() if key in panel}}


def _leaves(tree: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of the agent, and the tree's leaves by their paths; those of the one agent are `agent.*`."""
    agents = tree["agents"]
    if not isinstance(agents, Mapping) or len(agents) != 1:
        raise ConfigError(f"agents: expected one; several agents are groups of an environment ({PAGE})")
    ((name, agent),) = agents.items()
    kind = agent.get("type")
    if kind not in PRESETS:
        raise ConfigError(
            f"agents.{quoted(name)}.type={quoted(kind)}: it is one of {', '.join(PRESETS)}; "
            f"docs/own_learner.md says how to add your own ({PAGE})"
        )
    parts = {"runner": tree["runner"], "agent": agent, "memory": tree["memory"]}
    parts["env"] = {key: value for key, value in tree["env"].items() if key not in ("config", *WRAPPERS)}
    parts["explorer"] = {
        mode: {key: value for key, value in explorer.items() if key not in ("env", "extra_env_kwargs")}
        for mode, explorer in tree["explorer"].items()
    }
    return kind, flatten(parts)


def _learning(leaf: str, value: Any, beside: dict[str, Any]) -> bool:
    """Take the name or a number of an optimiser; whether it was one."""
    found = OPTIMISER_LEAVES.fullmatch(leaf)
    if not found:
        return False
    key = found["key"]
    if key is None:
        if value not in OPTIMISERS:
            raise ConfigError(f"{leaf}={quoted(value)}: it is one of {', '.join(OPTIMISERS)} ({PAGE})")
        beside["optimizer"] = OPTIMISERS[value]
        return True
    if key not in ("eps", "alpha"):
        return False
    beside[f"optim_{key}"] = value
    return True


def _of_targets(kind: str, panel: dict[str, Any], leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Config keys of how targets follow, beside the panel's: hard copies are soft steps of all the way."""
    if leaves.get("agent.policyargs.average_args.mode") == "hard":
        panel["polyak_factor"] = 1.0
    if kind not in (DDPG, SAC) or (interval := panel.pop("target_update_interval", 1)) == 1:
        return {}
    # SAC's follow once after the updates of a rollout
    return {"target_update_every": interval * (panel.get("n_update", 1) if kind == SAC else 1)}


def _of_noise(kind: str, panel: dict[str, Any], leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Config keys of DDPG's noise, beside the panel's."""
    if kind != DDPG:
        return {}
    high = leaves.get("agent.policyargs.act_space.lim", ((), ()))[1]
    limit = leaves.get("agent.noiseargs.lim")
    if limit is not None and np.any(np.ravel(high) != np.ravel(limit)[:1]):
        raise ConfigError(
            f"agent.noiseargs.lim={quoted(limit)}: noise is in halves of the actions' ranges here ({PAGE})"
        )
    if leaves.get("agent.noisename") == EGREEDY:
        panel["noise_std"] = leaves["agent.noiseargs.std"]
        return {"noise": "gaussian", "noise_clip": True, "noise_epsilon": leaves["agent.noiseargs.e"]}
    mean = leaves.get("agent.noiseargs.mu", 0)
    return {"noise_mean": mean} if mean else {}


def _of_wrappers(env: Mapping[str, Any], kind: str, panel: dict[str, Any]) -> dict[str, Any]:
    """Config keys of the wrappers that are on; the number of stacked frames goes into the panel."""
    names = [wrapper["name"] for stack in WRAPPERS for wrapper in env.get(stack, []) if wrapper["enabled"]]
    arguments = {w["name"]: w["args"] for stack in WRAPPERS for w in env.get(stack, []) if w["enabled"]}
    short = {name: name.rpartition(".")[2] for name in names}
    ppo, scaled = kind == PPO, {"normalise_observations": False}
    if ppo:
        scaled["normalise_rewards"] = False
        panel["frame_stack"] = 1
    for name in names:
        args, where = arguments[name], f"env: the wrapper {quoted(name)}"
        if short[name] in ("VecNormalizeObsDict", "VecNormalizeRew"):
            key = "normalise_observations" if short[name] == "VecNormalizeObsDict" else "normalise_rewards"
            if key == "normalise_rewards" and not ppo:
                raise ConfigError(
                    f"{where} has no counterpart beside replay; sample_transforms has scale_rewards ({PAGE})"
                )
            if args.get("clip", 10) != 10:
                raise ConfigError(f"{where}: clip={quoted(args['clip'])}: it is 10 here ({PAGE})")
            scaled[key] = True
        elif short[name] == "VecFrameStackAxis" and ppo:
            panel["frame_stack"] = args["nstack"]
        elif short[name] in ("WrapperLevelDictObs", "WrapperTransposeImage"):
            pass  # the part that the agent sees is one vector here, and pictures are turned where networks take them
        elif short[name] == "WrapperNormalizeActDict" and not ppo:
            pass  # actions of these agents are within their bounds here
        else:
            raise ConfigError(
                f"{where} has no counterpart here; env_args.wrappers takes Gymnasium's and yours ({PAGE})"
            )
    return scaled


def _kwargs(explorers: Mapping[str, Any]) -> dict[str, Any]:
    train, test = (dict(explorers.get(mode, {}).get("extra_env_kwargs") or {}) for mode in ("train", "test"))
    if train != test:
        raise ConfigError(f"explorer: extra_env_kwargs of train and test differ, and are one here ({PAGE})")
    return train


def _preset(kind: str, tree: Mapping[str, Any]) -> str:
    vectors, pictures = PRESETS[kind]
    (agent,) = tree["agents"].values()
    space = agent["policyargs"].get("obs_space", {})
    dim: Sequence[int] = space.get("dim", ()) if isinstance(space, Mapping) else ()
    return pictures if np.size(dim) == 3 else vectors
