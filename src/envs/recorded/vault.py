"""Vaults: the data sets of teams in OG-MARL's layout (Formanek et al. 2023), as flashbax 0.1 writes them.

A folder `<name>.vlt/<uid>` has `metadata.json` and a store of arrays `[1, N, ...]`, one after the other along N: the
observations, actions, rewards, terminals and truncations of n agents, and in `infos` the state and the legal actions.
A vault has no closing states: what the last action of a truncated episode led to is not in it.
"""

import json
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, EnvSpec, FieldSpec, with_env_info
from envs.contract.optional import require
from envs.recorded.description import EPISODE, Description, bounded
from envs.recorded.episodes import Steps, begins, gathered, transitions
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.plain_values import quoted

METADATA, VERSION, LONGEST_METADATA = "metadata.json", 1.2, 2**24
INSTALL = "pip install -r requirements-data.txt"
# steps that are read at a time; steps of a part
CHUNK, PART = 20_000, 50_000
# flashbax's size of the axis along which a vault grows
LONGEST_AXIS = 10**13
NEEDED = ("observations", "actions", "rewards", "terminals", "truncations")


class Vault:
    """Reads a vault.

    The agents' rewards are the team's where they are equal in the first steps. Without a state, it is all that the
    agents observe; without legal actions, all are.

    Raises:
        ConfigError: it is none, or tensorstore is not installed.
    """

    format = "vault"

    def __init__(self, folder: str | Path):
        self.folder = _own_folder(Path(folder))
        shapes = _shapes(self.folder)
        self._stores = {name: _opened(self.folder, name) for name in shapes}
        self._count = int(_opened(self.folder, "vault_index").read().result()[0])
        if not self._count:
            raise ConfigError(f"{quoted(str(folder), 300)} has no steps.")
        self.files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        self.description = self._described(shapes)

    def parts(self) -> Iterator[Steps]:
        """The steps, part by part; an episode is in one part."""
        return gathered(self._chunks(), PART)

    def _read(self, name: str, first: int, stop: int) -> np.ndarray:
        return np.asarray(self._stores[name][0, first:stop].read().result())

    def _described(self, shapes: dict[str, tuple[int, ...]]) -> Description:
        agents, *obs = shapes["observations"]
        first = {name: self._read(name, 0, min(self._count, 1000)) for name in shapes}
        actions = first["actions"]
        if actions.dtype.kind in "iu":
            n = shapes["infos.legals"][-1] if "infos.legals" in shapes else self._choices()
            action = FieldSpec("action", (), "int64", n=n)
            masks = {"avail_actions": FieldSpec("mask", (n,), "uint8", of="actions")}
        else:
            # a vault does not say what its bounds are: those of OG-MARL's environments, unless actions are beyond
            most = max(1.0, *(float(np.abs(self._read("actions", a, b)).max()) for a, b in self._pieces()))
            action, masks = FieldSpec("action", shapes["actions"][1:], "float32", low=-most, high=most), {}
        state = shapes.get("infos.state", (agents * int(np.prod(obs)),))
        rewards = first["rewards"].reshape(len(actions), -1)
        self._common = bool((rewards == rewards[:, :1]).all())
        fields = {
            "obs": FieldSpec("observation", tuple(obs)),
            "state": FieldSpec("observation", tuple(state), group=None),
            **masks,
            "actions": action,
            "reward": FieldSpec("outcome", group=None if self._common else AGENTS),
        }
        spec = EnvSpec(fields, {AGENTS: agents}, self._longest())
        return bounded(str(self.folder), Description(with_env_info(spec), {}, env_args={}))

    def _choices(self) -> int:
        highest = (int(self._read("actions", a, b).max()) for a, b in self._pieces())
        return 1 + max(highest)

    def _pieces(self) -> Iterator[tuple[int, int]]:
        for first in range(0, self._count, CHUNK):
            yield first, min(first + CHUNK, self._count)

    def _ends(self, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Whether the episode was terminated or truncated, bool `[N]` each; it ends for all agents at once."""
        count = stop - first
        terminals, truncations = (
            self._read(name, first, stop).reshape(count, -1) != 0 for name in ("terminals", "truncations")
        )
        terminated = terminals.all(axis=1)
        return terminated, (terminals | truncations).any(axis=1) & ~terminated

    def _longest(self) -> int:
        ended = np.concatenate([np.logical_or(*self._ends(a, b)) for a, b in self._pieces()])
        places = np.flatnonzero(ended)
        return int(np.diff(np.concatenate(([-1], places, [len(ended) - 1]))).max(initial=1))

    def _chunks(self) -> Iterator[Steps]:
        number = 0
        for first, stop in self._pieces():
            terminated, truncated = self._ends(first, stop)
            after = np.cumsum(terminated | truncated)
            episode = number + np.concatenate(([0], after[:-1]))
            number += int(after[-1])
            yield self._steps(first, stop) | {
                "terminated": terminated[:, None].astype(np.uint8),
                "truncated": truncated[:, None].astype(np.uint8),
                EPISODE: episode,
            }

    def _steps(self, first: int, stop: int) -> Steps:
        count, arrays = stop - first, self.description.arrays
        names = {"obs": "observations", "actions": "actions", "reward": "rewards"}
        names |= {"state": "infos.state", "avail_actions": "infos.legals"}
        steps = {}
        for key, name in names.items():
            if key not in arrays:
                continue
            if name in self._stores:
                values = self._read(name, first, stop)
            elif key == "state":
                values = self._read("observations", first, stop)
            else:
                values = np.ones((count, *arrays[key]), np.uint8)
            if key == "reward" and self._common:
                values = values.reshape(count, -1)[:, :1]
            steps[key] = values.reshape(count, *arrays[key])
        return steps


def write_vault(source: Any, folder: str | Path) -> int:
    """Write a data set of one group of agents as a vault; returns the number of its steps.

    A step of a truncated episode's end stands without the state after it.

    Raises:
        ConfigError: the folder exists, the data have other fields, or tensorstore is not installed.
    """
    folder, description = Path(folder), source.description
    check_vault(description)
    if folder.exists():
        raise ConfigError(f"{quoted(str(folder), 300)} exists already.")
    agents = description.spec.groups[AGENTS]
    stores: dict[str, Any] = {}
    written = 0
    for part in source.parts():
        arrays = _vault_arrays(part, agents)
        if not stores:
            _create(folder, arrays)
            stores = {name: _opened(folder, name, array) for name, array in arrays.items()}
        stop = written + len(next(iter(arrays.values())))
        for name, array in arrays.items():
            stores[name][0, written:stop].write(array).result()
        written = stop
    index = _opened(folder, "vault_index", np.zeros(1, np.int32), whole=True)
    index.write(np.array([written], np.int32)).result()
    return written


def check_vault(description: Description) -> None:
    """Refuse data that no vault can have.

    Raises:
        ConfigError: names the field, or the package that is missing.
    """
    require("tensorstore", "A vault", INSTALL)
    require_team(description, "A vault")


def require_team(description: Description, what: str) -> None:
    """Refuse data that do not have what the formats of others have: agents that see, act and are rewarded.

    Raises:
        ConfigError: names the field.
    """
    spec = description.spec
    if list(spec.groups) != [AGENTS]:
        raise ConfigError(f"{what} has one group of agents; these data have {', '.join(map(quoted, spec.groups))}.")
    for key in ("obs", "actions", "reward"):
        if key not in spec.fields:
            raise ConfigError(f"{what} has one field {key}; these data have {', '.join(map(quoted, spec.fields))}.")


def _vault_arrays(part: Steps, agents: int) -> Steps:
    """The transitions of a part, by the names of a vault's arrays; the last of each episode has an end."""
    done = transitions(part)
    steps = {key: value[done] for key, value in part.items()}
    count, shared = len(steps[EPISODE]), steps["reward"].shape[1:] == (1,)
    terminated = steps["terminated"].reshape(-1) != 0
    last = np.append(begins(steps[EPISODE])[1:], True)[:count]
    ends = {"terminals": terminated, "truncations": last & ~terminated}
    arrays = {
        "observations": steps["obs"].astype(np.float32),
        "actions": _squeezed(steps["actions"]),
        "rewards": np.broadcast_to(steps["reward"].reshape(count, 1 if shared else agents), (count, agents)).astype(
            np.float32
        ),
        **{name: np.broadcast_to(end[:, None], (count, agents)) for name, end in ends.items()},
    }
    if "state" in steps:
        arrays["infos.state"] = steps["state"].astype(np.float32)
    if "avail_actions" in steps:
        arrays["infos.legals"] = steps["avail_actions"].astype(np.float32)
    return arrays


def _squeezed(actions: np.ndarray) -> np.ndarray:
    """Choices `[N, n]`, numbers `[N, n, K]`."""
    return actions[..., 0].astype(np.int64) if actions.dtype.kind in "iu" else actions.astype(np.float32)


def _create(folder: Path, arrays: Steps) -> None:
    shapes: dict[str, Any] = {"infos": {}}
    dtypes: dict[str, Any] = {"infos": {}}
    for name, array in arrays.items():
        within, _, key = name.rpartition(".")
        for tree, value in ((shapes, str((1, 1, *array.shape[1:]))), (dtypes, array.dtype.name)):
            (tree[within] if within else tree)[key] = value
    folder.mkdir(parents=True)
    said = {"version": VERSION, "structure_shape": shapes, "structure_dtype": dtypes}
    (folder / METADATA).write_text(json.dumps(said))


def _own_folder(folder: Path) -> Path:
    """The folder with the metadata: this, or the only one in it."""
    if (folder / METADATA).exists():
        return folder
    below = sorted(path.parent for path in folder.glob(f"*/{METADATA}"))
    if len(below) != 1:
        names = ", ".join(quoted(path.name) for path in below) or "none"
        raise ConfigError(f"{quoted(str(folder), 300)} is no vault: name one of the folders in it ({names}).")
    return below[0]


def _shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays at one step, by their names in the store."""
    where = folder / METADATA
    try:
        said = json.loads(read_regular(where, LONGEST_METADATA))
        tree = said["structure_shape"]
        flat = {key: value for key, value in tree.items() if isinstance(value, str)}
        flat |= {f"infos.{key}": value for key, value in tree.get("infos", {}).items()}
        shapes = {name: tuple(int(size) for size in literal_eval(shape)[2:]) for name, shape in flat.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SyntaxError, RecursionError) as error:
        raise ConfigError(f"{where} is not a vault's metadata: {error}") from None
    for name in NEEDED:
        if name not in shapes:
            raise ConfigError(f"{where}: the vault has no {name}; it has {', '.join(map(quoted, shapes))}.")
    if len(shapes["observations"]) < 2:
        raise ConfigError(f"{where}: observations have the shape {shapes['observations']}; agents have rows.")
    return shapes


def _opened(folder: Path, name: str, array: np.ndarray | None = None, whole: bool = False) -> Any:
    """An array of the store, which is created for the steps of `array`, or for `whole` of it."""
    tensorstore = require("tensorstore", "A vault", INSTALL)
    path = name if name == "vault_index" else f"{name}."
    kvstore = {"driver": "ocdbt", "base": f"file://{folder.resolve()}", "path": path}
    spec: dict[str, Any] = {"driver": "zarr", "kvstore": kvstore}
    if array is None:
        try:
            return tensorstore.open(spec, read=True).result()
        except ValueError as error:
            raise ConfigError(f"{folder} is damaged: {name} cannot be read: {quoted(str(error), 200)}") from None
    if not whole:
        spec["metadata"] = {"compressor": {"id": "gzip", "level": 5}}
    shape = array.shape if whole else (1, LONGEST_AXIS, *array.shape[1:])
    return tensorstore.open(spec, dtype=array.dtype.name, shape=shape, create=True).result()
