"""What a batch's scheme says of its fields: which of them agents see, do and may do, and their shapes."""

from collections.abc import Mapping
from typing import Any

import torch as th

AGENTS = "agents"
# the field of a rollout with the memory from before its first step; for trees `<BEFORE>/<path of the leaf>`
BEFORE = "hidden_before"
# the field with the memory after each decision; for trees `<MEMORY>/<path of the leaf>`
MEMORY = "hidden_state"
Scheme = Mapping[str, Mapping[str, Any]]


def field_before(key: str) -> str:
    """The field of a rollout with the actions before its first step, `[B, n, ...]`; zeros without any."""
    return "last_actions_before" if key == "actions_onehot" else f"{key}_before"


def observed_fields(scheme: Scheme) -> list[str]:
    """Fields that agents see: those of kind "observation"; "obs" in a scheme without kinds."""
    return _of_kind(scheme, "observation", by_agent=True) or ["obs"]


def state_fields(scheme: Scheme) -> list[str]:
    """Observations of the environment as a whole; "state", if there is one, in a scheme without kinds."""
    return _of_kind(scheme, "observation", by_agent=False) or (["state"] if "state" in scheme else [])


def chosen_fields(scheme: Scheme) -> list[str]:
    """The fields of agents' actions; "actions" in a scheme without kinds."""
    return _of_kind(scheme, "action", by_agent=True) or ["actions"]


def action_fields(scheme: Scheme) -> list[str]:
    """The fields of agents' actions as inputs of a network: categorical ones one-hot, others as they are."""
    return [f"{key}_onehot" if f"{key}_onehot" in scheme else key for key in chosen_fields(scheme)]


def choice_masks(scheme: Scheme) -> dict[str, str]:
    """The fields of legal choices, by the action that they are of; "avail_actions" in a scheme without kinds."""
    masks = {info["of"]: key for key, info in scheme.items() if info.get("kind") == "mask" and info.get("of")}
    if not masks and "kind" not in scheme.get("avail_actions", {"kind": ""}):
        return {"actions": "avail_actions"}
    return masks


def entity_actions(scheme: Scheme) -> dict[str, dict[str, Any]]:
    """Of an environment of entities, each action's `kind`, its `slots` (from, to) and its most `choices`."""
    return scheme.get("actors", {}).get("about", {}).get("actions", {})


def placing_fields(scheme: Scheme) -> tuple[str, ...]:
    """Of an environment of entities, the fields by which networks place entities, actors and what these may select.

    Their numbers decide the shapes of what networks compute, so programs read them in main memory.
    """
    if not entity_actions(scheme):
        return ()
    counts = tuple(key for key in scheme if key.startswith("entities/") and key.endswith(("/count", "/hidden")))
    return (*counts, *(key for key in scheme if key in ("actors", "acts") or key.startswith("actees/")))


def is_rollout(batch: Any) -> bool:
    """Whether a batch has the memory from before its first step, and episodes that start within its rows."""
    return BEFORE in batch.scheme or any(key.startswith(f"{BEFORE}/") for key in batch.scheme)


def shape_of(info: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of a field at one step, of one agent if it belongs to agents."""
    vshape = info["vshape"]
    return (vshape,) if isinstance(vshape, int) else tuple(vshape)


def as_numbers(x: th.Tensor) -> th.Tensor:
    """Pictures (uint8) in [0, 1]; other whole numbers and truth values as floats."""
    if x.dtype == th.uint8:
        return x.float() / 255
    return x if x.is_floating_point() else x.float()


def seen_shape(info: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of an observation as networks see it: categories, which its `about` may declare, are one-hot."""
    shape, sizes = shape_of(info), categories_of(info)
    return (*shape[:-1], sum(sizes)) if sizes else shape


def as_seen(info: Mapping[str, Any], x: th.Tensor) -> th.Tensor:
    """An observation `[*steps, *shape]` as networks see it, `[*steps, *seen_shape(info)]` of floats."""
    sizes = categories_of(info)
    if not sizes:
        return as_numbers(x)
    first = th.tensor([0, *sizes[:-1]], device=x.device).cumsum(0)
    return th.zeros(*x.shape[:-1], sum(sizes), device=x.device).scatter_(-1, x.long() + first, 1.0)


def categories_of(info: Mapping[str, Any]) -> tuple[int, ...]:
    """Of an observation whose last axis holds categories, as MiniGrid's pictures do, how many there are of each."""
    return tuple(info.get("about", {}).get("categories", ()))


def channels_first(shape: tuple[int, ...]) -> bool:
    """Whether the first axis of a picture is that of its channels: the shortest one, unless the picture is square."""
    return shape[0] < shape[-1] and shape[0] != shape[1]


def centred(x: th.Tensor) -> th.Tensor:
    """Pictures (uint8) between -1 and 1: (x - 128) / 128 (Linesight)."""
    return (x.float() - 128) / 128


def _of_kind(scheme: Scheme, kind: str, by_agent: bool) -> list[str]:
    return [
        key
        for key, info in scheme.items()
        if info.get("kind") == kind and (info.get("group") == AGENTS if by_agent else "group" not in info)
    ]
