"""Digideep's dictionary of trajectories: where each field of a batch stands in it."""

from collections.abc import Mapping
from typing import Any

import torch as th

from utils.rl_utils import episode_starts
from utils.tensors.schemes import AGENTS, BEFORE, MEMORY, is_rollout

MASKS = "/masks"


def trajectory_keys(scheme: Mapping[str, Mapping[str, Any]], groups: Mapping[str, int]) -> dict[str, str]:
    """The key of each field of a scheme.

    `/observations` (the field "obs"), `/observations/<path>`, `/rewards`, `/infos/<field>` (other outcomes of steps),
    and of each group of agents `/agents/<group>/actions`, `/agents/<group>/hidden_state` (its memory after each
    decision, with `keep_memory`), `/agents/<group>/hidden_before` (that before a rollout) and
    `/agents/<group>/artifacts/<field>` (what came with its decisions). The only group of an environment is "agents".
    A field of a group, "red/obs", has the group in its key: `/observations/red`, `/rewards/red`.
    """
    return {name: _key(name, info, groups) for name, info in scheme.items()}


def masks(batch: Any) -> th.Tensor:
    """float32 `[B, T, 1]`: 0 where the step before ended an episode, and where an episode starts; 1 elsewhere.

    The first step of a rollout continues episodes, as far as the batch shows.
    """
    ended = batch["terminated"].bool() | batch["truncated"].bool()
    fresh = episode_starts(batch).unsqueeze(2)
    fresh[:, 1:] |= ended[:, :-1]
    if not is_rollout(batch):
        fresh[:, 0] = True
    return (~fresh).float()


def _key(name: str, info: Mapping[str, Any], groups: Mapping[str, int]) -> str:
    head, slash, rest = name.partition("/")
    group = head if slash and head in groups and head != AGENTS else ""
    own, owner = (rest, group) if group else (name, AGENTS)
    of_group = f"/{group}" if group else ""
    if name == "filled":
        return "/infos/filled"
    if own.partition("/")[0] in (MEMORY, BEFORE):
        return f"/agents/{owner}/{own}"
    kind = info.get("kind")
    if kind in ("observation", "mask"):
        seen = own.removeprefix("obs").removeprefix("/") if own == "obs" or own.startswith("obs/") else own
        return f"/observations{of_group}{'/' if seen else ''}{seen}"
    if own == "reward":
        return f"/rewards{of_group}"
    if kind in ("outcome", "record"):
        return f"/infos/{name.removeprefix('infos/')}"
    if kind == "action":
        return f"/agents/{owner}/{own}"
    return f"/agents/{owner}/artifacts/{own}"
