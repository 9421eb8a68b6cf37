"""Minari's data sets of one agent (Younis et al. 2024), read and written by its own package."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, EnvSpec, FieldSpec, with_env_info
from envs.contract.optional import require
from envs.recorded.description import EPISODE, Description
from envs.recorded.episodes import Steps, begins, gathered, transitions
from envs.recorded.vault import INSTALL, PART, require_team
from utils.errors import ConfigError
from utils.plain_values import quoted

PREFIX, METADATA = "minari:", "metadata.json"


class MinariData:
    """Reads a data set: the folder that has `data/`, that folder, or `minari:<id>` for one that Minari has here.

    Observations are vectors or arrays, or dictionaries of such; actions are choices or vectors. A vector is the state,
    too, and all choices are legal, as in Gymnasium's environments without masks (`envs.gymnasium.environment`).

    Raises:
        ConfigError: there is no such data set, its spaces are others, or Minari is not installed.
    """

    format = "minari"

    def __init__(self, place: str | Path):
        minari = require("minari", "A data set of Minari's", INSTALL)
        try:
            if str(place).startswith(PREFIX):
                self._data = minari.load_dataset(str(place).removeprefix(PREFIX))
            else:
                folder = Path(place)
                self._data = minari.MinariDataset(folder if (folder / METADATA).exists() else folder / "data")
        except ImportError as error:
            raise ConfigError(f"{quoted(str(place), 300)}: {error} Install it with: {INSTALL}") from None
        except (OSError, ValueError, KeyError, AssertionError) as error:
            hint = f" minari download {str(place).removeprefix(PREFIX)} fetches it." if _is_id(place) else ""
            raise ConfigError(f"{quoted(str(place), 300)}: Minari cannot read it: {error}.{hint}") from None
        if not self._data.total_episodes:
            raise ConfigError(f"{quoted(str(place), 300)} has no steps.")
        self.folder = Path(self._data.storage.data_path)
        self.files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        fields = self._observed() | self._chosen() | {"reward": FieldSpec("outcome", group=None)}
        longest = max(len(episode) for episode in self._data.iterate_episodes())
        spec = with_env_info(EnvSpec(fields, {AGENTS: 1}, longest, declared=True))
        key = getattr(self._data.env_spec, "id", None)
        self.description = Description(spec, {}, "gymnasium" if key else "", {"key": key} if key else {})

    def parts(self) -> Iterator[Steps]:
        """The steps, part by part; an episode is in one part."""
        return gathered(map(self._steps, self._data.iterate_episodes()), PART)

    def _observed(self) -> dict[str, FieldSpec]:
        space = self._data.observation_space
        parts = getattr(space, "spaces", None)
        fields = {
            f"obs/{key}" if parts else "obs": FieldSpec("observation", one.shape, one.dtype.name)
            for key, one in (parts if isinstance(parts, dict) else {"": space}).items()
            if _is_box(one)
        }
        if not fields:
            raise ConfigError(f"Observations of {quoted(str(space), 200)} cannot be learned from: arrays can.")
        if "obs" in fields and len(space.shape) == 1:
            fields["state"] = FieldSpec("observation", space.shape, space.dtype.name, group=None)
        return fields

    def _chosen(self) -> dict[str, FieldSpec]:
        space = self._data.action_space
        if _is_box(space) and len(space.shape) == 1:
            low, high = (tuple(float(x) for x in bound) for bound in (space.low, space.high))
            return {"actions": FieldSpec("action", space.shape, "float32", low=low, high=high)}
        if type(space).__name__ != "Discrete":
            raise ConfigError(f"Actions of {quoted(str(space), 200)} cannot be learned from: choices and vectors can.")
        n = int(space.n)
        mask = FieldSpec("mask", (n,), "uint8", of="actions")
        return {"avail_actions": mask, "actions": FieldSpec("action", (), "int64", n=n)}

    def _steps(self, episode: Any) -> Steps:
        """Of an episode: as many steps as it shows, the closing state included."""
        count, arrays = len(episode) + 1, self.description.arrays
        seen = episode.observations if isinstance(episode.observations, dict) else {"": episode.observations}
        steps = {f"obs/{key}" if key else "obs": np.asarray(value) for key, value in seen.items()}
        steps["state"] = steps.get("obs", np.zeros(0))
        choices = np.asarray(episode.actions)
        if "avail_actions" in arrays:
            steps["avail_actions"] = np.ones((count, *arrays["avail_actions"]), np.uint8)
            choices = choices - int(self._data.action_space.start)
        ends = {"terminated": episode.terminations, "truncated": episode.truncations & ~episode.terminations}
        for key, value in {"actions": choices, "reward": episode.rewards, **ends}.items():
            steps[key] = _longer(np.asarray(value), count)
        steps = {key: steps[key].reshape(count, *shape) for key, shape in arrays.items()}
        return steps | {EPISODE: np.full(count, episode.id, np.int64)}


def check_minari(description: Description) -> None:
    """Refuse data that no data set of Minari's can have.

    Raises:
        ConfigError: names the field, or the package that is missing; there are several agents.
    """
    require("minari", "A data set of Minari's", INSTALL)
    require_team(description, "A data set of Minari's")
    if (agents := description.spec.groups[AGENTS]) != 1:
        raise ConfigError(f"A data set of Minari's has one agent; these data have {agents}. Use a vault.")


def write_minari(source: Any, folder: str | Path, name: str = "") -> int:
    """Write a data set of one agent as Minari's, into `<folder>/data`; returns the number of its transitions.

    Args:
        name: its id for Minari, `namespace/name-v0`; "": of the folder.

    Raises:
        ConfigError: the folder exists, there are several agents, the data have other fields, or Minari is missing.
    """
    check_minari(source.description)
    minari = require("minari", "A data set of Minari's", INSTALL)
    # Minari joins a relative path to itself
    folder, spec = Path(folder).absolute(), source.description.spec
    if (folder / "data").exists():
        raise ConfigError(f"{quoted(str(folder / 'data'), 300)} exists already.")
    storage_class = require("minari.dataset.minari_storage", "A data set of Minari's", INSTALL).MinariStorage
    buffers = require("minari.data_collector", "A data set of Minari's", INSTALL)
    observed, chosen = _spaces(spec)
    folder.mkdir(parents=True, exist_ok=True)
    env = _registered(source.description)
    storage = storage_class.new(folder / "data", observed, chosen, env, "hdf5", jpeg_encoding=False)
    written = 0
    for part in source.parts():
        episodes = [_episode(buffers.EpisodeBuffer, part, rows) for rows in _rows_of_episodes(part)]
        storage.update_episodes([episode for episode in episodes if len(episode.rewards)])
        written += sum(len(episode.rewards) for episode in episodes)
    said = {"dataset_id": name or f"muster/{folder.name}-v0", "minari_version": minari.__version__}
    storage.update_metadata({**said, "algorithm_name": "", "author": set(), "author_email": set()})
    return written


def _registered(description: Description) -> Any:
    """Gymnasium's registration of the environment, by which Minari recovers it; None: it has none."""
    gymnasium = require("gymnasium", "A data set of Minari's", INSTALL)
    key = (description.env_args or {}).get("key")
    return gymnasium.registry.get(key) if description.env == "gymnasium" and isinstance(key, str) else None


def _spaces(spec: EnvSpec) -> tuple[Any, Any]:
    spaces = require("gymnasium.spaces", "A data set of Minari's", INSTALL)
    seen, action = spec.fields["obs"], spec.fields["actions"]
    dtype = np.dtype(seen.dtype)
    low, high = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    observed = spaces.Box(low, high, seen.shape, dtype.type)
    if action.n is not None:
        return observed, spaces.Discrete(action.n)
    bounds = (np.broadcast_to(bound, action.shape) for bound in action.bounds(-np.inf, np.inf, np.float32))
    return observed, spaces.Box(*bounds, action.shape, np.float32)


def _rows_of_episodes(part: Steps) -> Iterator[slice]:
    first = np.flatnonzero(begins(part[EPISODE]))
    for start, stop in zip(first, np.append(first[1:], len(part[EPISODE])), strict=True):
        yield slice(int(start), int(stop))


def _episode(buffer: Any, part: Steps, rows: slice) -> Any:
    steps = {key: value[rows] for key, value in part.items()}
    done = transitions(steps)
    seen = steps["obs"][:, 0]
    if done.all():
        seen = np.concatenate([seen, np.zeros_like(seen[:1])])  # nothing follows an end without a closing state
    terminated = steps["terminated"].reshape(-1)[done] != 0
    last = np.arange(len(terminated)) == len(terminated) - 1
    actions = steps["actions"][done][:, 0]
    return buffer(
        observations=seen[: int(done.sum()) + 1],
        actions=actions[:, 0] if actions.dtype.kind in "iu" else actions,
        rewards=list(steps["reward"].reshape(len(done), -1)[done, 0].astype(np.float64)),
        terminations=list(terminated),
        truncations=list(last & ~terminated),
        infos={},
    )


def _longer(values: np.ndarray, count: int) -> np.ndarray:
    """With zeros behind, for the closing state."""
    return np.concatenate([values, np.zeros((count - len(values), *values.shape[1:]), values.dtype)])


def _is_box(space: Any) -> bool:
    return type(space).__name__ == "Box"


def _is_id(place: Any) -> bool:
    return str(place).startswith(PREFIX)
