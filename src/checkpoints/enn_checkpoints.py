"""Checkpoints of enn-trainer, read as saved models: a folder with `config.ron`, `state.ron` and `state.*.msgpack`.

Parameters have rogue-net's names, which are those here. Nothing in these files is run.
"""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from utils.errors import ConfigError
from utils.files.message_pack import number_type, unpacked
from utils.files.regular_files import read_regular
from utils.files.ron_files import Struct, load_ron
from utils.plain_values import quoted

STATE = "state.ron"
# file of a saved model -> field of their state
FIELDS = {
    "agent.th": "agent",
    "agent_opt.th": "optimizer",
    "critic.th": "value_function",
    "critic_opt.th": "vf_optimizer",
}
NETWORK_OF = {"optimizer": "agent", "vf_optimizer": "value_function"}
PREFIX = "net."  # of names in a critic here
# a parameter of theirs that nothing reads, and that networks here do not have
NEVER_READ = "backbone.relpos_encoding.distance_values.weight"
GLOBAL = ".__global__."
LARGEST_FILE = 2**32
PAGE = "docs/entity_gym.md#checkpoints-of-enn-trainer"


def enn_checkpoints(root: Path) -> dict[int, Path]:
    """The checkpoints by step: `root` itself, or those below it; empty if there is none.

    Raises:
        ConfigError: a state cannot be read.
    """
    if is_enn_checkpoint(root):
        return {_step(root): root}
    below = [path for path in root.glob("*step[0-9]*") if is_enn_checkpoint(path)] if root.is_dir() else []
    return {_step(path): path for path in below}


def is_enn_checkpoint(folder: Path) -> bool:
    """Whether a folder is one."""
    return (folder / STATE).is_file() and not any(folder.glob("*.th"))


def enn_state(path: Path, target: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """The state dict of a network or an optimiser of a checkpoint.

    Args:
        path: the file of a saved model in whose place it is, such as `latest-step000000001024/agent.th`.
        names: of an optimiser, those of its parameters, in order: theirs have another one.
        target: what is to take it; of parts that a network here does not have, nothing is taken: heads of actions of a
            value function, and the value's head of a policy beside one.

    Raises:
        ConfigError: the checkpoint has no such part, is damaged, or fits another environment or network.
    """
    folder, state = path.parent, _state(path.parent)
    field = FIELDS.get(path.name)
    if field is None or state.get(field) is None:
        raise ConfigError(
            f"{folder}: enn-trainer's checkpoint has nothing in place of {path.name}. Take its config, "
            f"--config={folder / 'config.ron'} ({PAGE})."
        )
    if field in NETWORK_OF:
        network, wanted = NETWORK_OF[field], [name.removeprefix(PREFIX) for name in names]
        theirs = [
            name
            for name in _tensors(folder, state, network)
            if name in wanted or name == NEVER_READ or _is_unused(name, network, state)
        ]
        return _optimiser_state(folder, field, _blob(folder, state, field), theirs, wanted, target)
    prefix, network = (PREFIX, target.net) if field == "value_function" else ("", target)
    weights = _tensors(folder, state, field)
    if (
        field == "agent"
        and state.get("value_function") is not None
        and "auxiliary_heads.value.weight" in _names(target)
    ):
        raise ConfigError(f"{folder}: its values come from a network of their own: set critic=entities ({PAGE}).")
    _check_features(folder, state, network)
    if prefix and any(GLOBAL in name for name in weights) and not any(GLOBAL in name for name in _names(target)):
        raise ConfigError(
            f"{folder}: with global actions, enn-trainer's value function has an entity for them, which "
            f"critic=entities does not have. The policy alone can be played, with evaluate=True ({PAGE})."
        )
    return {prefix + name: weight for name, weight in weights.items() if not _is_unused(name, field, state)}


def _is_unused(name: str, network: str, state: Mapping[str, Any]) -> bool:
    unused = "action_heads." if network == "value_function" else "auxiliary_heads."
    return name.startswith(unused) and state.get("value_function") is not None


def _optimiser_state(
    folder: Path, field: str, theirs: Any, their_names: list[str], names: list[str], target: Any
) -> dict[str, Any]:
    """Moments by the place of the parameter, with the settings that `target` has."""
    own = target.state_dict()
    parameters = [parameter for group in target.param_groups for parameter in group["params"]]
    try:
        moments = {their_names[number]: dict(of_one) for number, of_one in theirs["state"].items()}
        state = {place: moments[name] for place, name in enumerate(names) if name in moments}
        fits = len(set(names) & set(their_names)) == len(parameters) and all(
            set(of_one) == {"step", "exp_avg", "exp_avg_sq"}
            and of_one["exp_avg"].shape == of_one["exp_avg_sq"].shape == parameters[place].shape
            for place, of_one in state.items()
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        fits = False
    if not fits:
        raise ConfigError(
            f"{folder}: the state of its {field} does not fit this run's parameters. It is AdamW's: take "
            f"optimizer=adam, and the networks of --config={folder / 'config.ron'}."
        )
    return {"state": state, "param_groups": own["param_groups"]}


def _check_features(folder: Path, state: Mapping[str, Any], network: Any) -> None:
    """Refuse an environment whose features have other names or another order, which weights do not show."""
    try:
        space = state["obs_space"]
        theirs = {name: list(entity["features"]) for name, entity in space["entities"].items()}
        theirs["__global__"] = list(space["global_features"])
    except (AttributeError, KeyError, TypeError):
        raise ConfigError(f"{folder / STATE}: it has no obs_space of enn-trainer's.") from None
    ours = {**getattr(network, "obs_space", {}), "__global__": getattr(network, "global_features", [])}
    for name, features in theirs.items():
        if name in ours and list(ours[name]) != features:
            what = "global features" if name == "__global__" else f"features of entity type '{quoted(name)}'"
            raise ConfigError(
                f"{folder}: it was trained with the {what} {quoted(features)}; the environment has "
                f"{quoted(ours[name])}."
            )


def _names(target: Any) -> set[str]:
    return set(target.state_dict())


def _tensors(folder: Path, state: Mapping[str, Any], field: str) -> dict[str, Any]:
    import torch as th

    weights = _blob(folder, state, field)
    if not isinstance(weights, dict) or not all(
        isinstance(name, str) and isinstance(weight, th.Tensor) for name, weight in weights.items()
    ):
        raise ConfigError(f"{_file(folder, field)} holds no parameters by name.")
    return weights


def _blob(folder: Path, state: Mapping[str, Any], field: str) -> Any:
    if state.get(field) != "<blob:msgpack>":
        raise ConfigError(
            f"{folder}: its {field} is stored as {quoted(state.get(field))}. Pickled ones, of hyperstate before 0.4, "
            f"can hold code and are not read; hyperstate 0.4 rewrites them as MessagePack ({PAGE})."
        )
    file = _file(folder, field)
    try:
        return unpacked(read_regular(file, LARGEST_FILE, follow_links=True), _tensor)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{file} is damaged: {error}.") from None


def _tensor(made: dict) -> Any:
    if b"__tensor__" not in made:
        return made
    import torch as th

    dtype, shape, data = number_type(made[b"dtype"]), made[b"shape"], made[b"data"]
    if len(data) != prod(shape) * dtype.itemsize:
        raise ValueError("a tensor has other values than it says")
    return th.from_numpy(np.frombuffer(data, dtype).reshape(shape).copy())


def _state(folder: Path) -> Struct:
    state = load_ron(folder / STATE)
    if (
        not isinstance(state, Struct)
        or state.name != "State"
        or type(state.get("step")) is not int
        or state["step"] < 0
    ):
        raise ConfigError(f"{folder / STATE}: it is no state of enn-trainer, which would be a State(step: ...).")
    return state


def _step(folder: Path) -> int:
    return _state(folder)["step"]


def _file(folder: Path, field: str) -> Path:
    return folder / f"state.{field}.msgpack"
