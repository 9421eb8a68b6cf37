"""The best episodes that a runner plays, as the infos of their environment declare them."""

import json
from collections.abc import Mapping
from math import inf, isfinite
from numbers import Real
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from components.episode_batch import EpisodeBatch
from components.joined_episodes import JoinedEpisodes
from envs import REGISTRY as environments
from envs.contract.infos import warn_once
from utils.files.file_names import is_folder_name
from utils.plain_values import quoted
from utils.tensors.schemes import Scheme

Q_VALUES = "q_values"
# of the files that a run writes itself into the folder of an episode
RESERVED, SUFFIXES = ("actions", "best_episode", "manifest", Q_VALUES), (".npy", ".th", ".json")
LARGEST_FILE = 2**24  # bytes, or characters


class BestEpisodes:
    """Of each name, the best episode so far: its actions, and the Q-values of its decisions if batches have them.

    The last info of an episode that may be one has `best_of`:

        name: what episodes are compared on, such as a map
        least: their number, such as a time; the least is the best
        restart: what else is needed to play it again, numbers and texts by name
        files: what is kept beside it, by name: texts, and arrays of numbers, whose file is `<name>.npy`; may be missing

    Args:
        scheme: of the batches.
    """

    def __init__(self, scheme: Scheme):
        self.actions = [key for key, info in scheme.items() if info.get("kind") == "action"]
        self.joined = JoinedEpisodes([*self.actions, *([Q_VALUES] if Q_VALUES in scheme else [])])
        self._least: dict[str, float] = {}
        self._found: dict[str, dict[str, Any]] = {}

    def take(self, batch: EpisodeBatch, infos: Mapping[tuple[int, int], Mapping], t_env: int, test: bool) -> None:
        """Look at the episodes that end in a batch.

        Args:
            batch: whole episodes, or the rollout after the last one.
            infos: the last info of each, by row and column of its last step.
            t_env: steps of the run.
            test: whether it was played as a test.
        """
        declared = {place: info["best_of"] for place, info in infos.items() if info.get("best_of") is not None}
        better = {place: best for place, best in declared.items() if _is_valid(best) and self._is_better(best)}
        for episode in self.joined.take(batch, better):
            best = better[episode.entry, episode.step]
            if not self._is_better(best):  # another one in this batch was still better
                continue
            self._least[best["name"]] = best["least"]
            values = {key: value[:-1] for key, value in episode.values.items()}
            self._found[best["name"]] = {**best, "t_env": t_env, "test": test, "values": values}

    def fetch(self) -> list[dict[str, Any]]:
        """The best ones since the last call, if they are better than all before.

        Each is `best_of` with `t_env`, `test`, and `values`: of each field an array `[L, n, ...]`.
        """
        found, self._found = list(self._found.values()), {}
        return found

    def state_dict(self) -> dict[str, Any]:
        return {"joined": self.joined.state_dict(), "least": dict(self._least), "found": dict(self._found)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from where `state_dict` was taken."""
        self.joined.load_state_dict(state["joined"])
        self._least, self._found = dict(state["least"]), dict(state["found"])

    def _is_better(self, best: Mapping[str, Any]) -> bool:
        return best["least"] < self._least.get(best["name"], inf)


def _is_valid(best: Any) -> bool:
    """Whether it is what an info declares of an episode; a warning quotes one that is not, once.

    Its name becomes that of a folder, which must be within the run's, and the rest of it JSON.
    """
    try:
        name, least, restart = best["name"], best["least"], best["restart"]
        json.dumps([least, restart])
        valid = is_folder_name(name) and isinstance(least, Real) and isfinite(least) and isinstance(restart, Mapping)
        valid = valid and all(_is_kept(*file) for file in best.get("files", {}).items())
    except Exception:  # anything may be in an info
        valid = False
    if not valid:
        warn_once(
            f"The environment's info has best_of={quoted(best)}, which is not kept: it needs the name of a folder, the "
            "number least, and restart, a mapping of plain values; files, if any, are texts and arrays by plain names."
        )
    return valid


def _is_kept(name: Any, content: Any) -> bool:
    """Whether it may be a file beside an episode: its name is none of the run's own there."""
    if not is_folder_name(name) or name.partition(".")[0] in RESERVED or Path(name).suffix in SUFFIXES:
        return False
    if isinstance(content, str):
        return len(content) <= LARGEST_FILE
    return isinstance(content, np.ndarray) and content.dtype.kind in "biuf" and content.nbytes <= LARGEST_FILE


def best_episodes_of(args: SimpleNamespace, scheme: Scheme) -> BestEpisodes | None:
    """Those of a runner, if its config wants them and its environment declares the trait `has_best`."""
    if not args.save_best_episodes or args.env not in environments:
        return None
    return BestEpisodes(scheme) if environments.entry(args.env).traits.get("has_best") else None
