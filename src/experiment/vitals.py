"""What rollouts are made of, for the doctor (`records.symptoms`): legal choices, sizes of observations, ends."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch as th

from envs.contract.fields import AGENTS, EnvSpec, FieldSpec
from learners.figures import Figure, figure, numbers
from records.diagnostics import Diagnostics
from records.symptoms.evidence import CUT_OFF, ENDED, LARGEST_OBS, ONE_LEGAL, OUTSIDE, Curve

# steps of environments that are looked at in each interval, on the CPU; on a GPU one rollout
ENOUGH = 512
# of a bound: what rounding to float32 may add
ROUNDING = 1e-4


class Vitals:
    """Looks at some rollouts between two summaries; nothing of the run depends on it.

    Args:
        spec: of the environment; None: it declares nothing, and nothing is looked at.
        interval: steps between summaries.
    """

    def __init__(self, spec: EnvSpec | None, diagnostics: Diagnostics, interval: int):
        self._spec, self._diagnostics, self._interval = spec, diagnostics, interval
        self._since, self._seen = -interval, 0
        # those of a GPU as tensors until they are written
        self._found: dict[str, list[Figure]] = defaultdict(list)
        # lowest and highest values by field, on the device of the rollouts
        self._bounds: dict[str, tuple[th.Tensor, th.Tensor]] = {}
        self._rows: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def look(self, batch: Any, t_env: int) -> None:
        """Look at a rollout of training, unless enough of this interval has been seen; a GPU is not waited for."""
        if t_env - self._since >= self._interval:
            self._since, self._seen = t_env, 0
        if self._spec is None or self._seen >= ENOUGH:
            return
        found = {name: figure(value) for name, value in self._figures(self._spec, batch)}
        steps = found.pop("steps")
        self._seen += ENOUGH if isinstance(steps, th.Tensor) else int(steps)
        for name, value in found.items():
            self._found[name].append(value)

    def write(self) -> None:
        """Add what was seen since the last time to the diagnostics."""
        found = numbers({f"{i}/{name}": one for name, all_ in self._found.items() for i, one in enumerate(all_)})
        figures = {}
        for name, all_ in self._found.items():
            join = sum if name in (ENDED, CUT_OFF) else max if name == LARGEST_OBS else _mean
            figures[name] = join([found[f"{i}/{name}"] for i in range(len(all_))])
            self._rows[name].append((self._diagnostics.t_env, figures[name]))
        self._found.clear()
        self._diagnostics.note_rollouts(figures)

    def curves(self) -> Mapping[str, Curve]:
        """What was written in this session, by name."""
        return {name: Curve.of(rows) for name, rows in self._rows.items()}

    def _figures(self, spec: EnvSpec, batch: Any) -> Iterator[tuple[str, th.Tensor]]:
        """Of rows that stand at equal distances, as many as make about ENOUGH steps, in tensors of one number."""
        size, steps = batch["filled"].shape[:2]
        some = slice(None, None, max(1, size * steps // max(ENOUGH, steps)))
        filled = batch["filled"][some, :, 0].bool()
        yield "steps", filled.sum()
        ended = {end: ((batch[end][some, :, 0] > 0) & filled).sum() for end in ("terminated", "truncated")}
        yield ENDED, ended["terminated"] + ended["truncated"]
        yield CUT_OFF, ended["truncated"]
        largest, outside = [], []
        for path, field in spec.fields.items():
            if path not in batch.scheme or field.kind != "observation":
                continue
            seen = batch[path][some]
            there = filled if field.group is None else _there(batch, field.group, filled, some)
            if seen.is_floating_point():
                largest.append(seen.abs().reshape(*there.shape, -1).amax(dim=-1).where(there, 0.0).max())
                if field.capacity is None and (field.low, field.high) != (None, None):
                    beyond = self._is_outside(path, field, seen).reshape(*there.shape, -1).any(dim=-1)
                    outside.append((beyond & there).sum() / there.sum().clamp(min=1))
        for name, found in (
            (LARGEST_OBS, largest),
            (OUTSIDE, outside),
            (ONE_LEGAL, _forced(spec, batch, filled, some)),
        ):
            if found:
                yield name, th.stack(found).max()

    def _is_outside(self, path: str, field: FieldSpec, seen: th.Tensor) -> th.Tensor:
        """Which numbers are outside of the bounds of their field."""
        if path not in self._bounds:
            low, high = (th.as_tensor(bound, device=seen.device) for bound in field.bounds(-np.inf, np.inf, np.float32))
            slack = ROUNDING * (1 + th.minimum(low.abs(), high.abs()).nan_to_num(posinf=0.0))
            self._bounds[path] = low - slack, high + slack
        lowest, highest = self._bounds[path]
        return (seen < lowest) | (seen > highest)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _there(batch: Any, group: str, filled: th.Tensor, some: slice) -> th.Tensor:
    """Which steps `filled` `[B, T]` of some rows have which agents: bool `[B, T, n]`."""
    agents = filled.unsqueeze(-1).expand(*filled.shape, batch.groups[group])
    here = "present" if group == AGENTS else f"{group}/present"
    return agents & batch[here][some, ..., 0].bool() if here in batch.scheme else agents


def _forced(spec: EnvSpec, batch: Any, filled: th.Tensor, some: slice) -> list[th.Tensor]:
    """Of each group whose choices are all masked, the share of decisions in which none of them leaves a choice."""
    masks: dict[str | None, list[str]] = defaultdict(list)
    for path, field in spec.fields.items():
        if field.of and path in batch.scheme:
            masks[field.group].append(path)
    shares = []
    for group, paths in masks.items():
        if len(paths) < sum(action.group == group for action in spec.of_kind("action").values()):
            continue
        legal = th.stack([batch[path][some].sum(dim=-1) for path in paths])
        there = filled if group is None else _there(batch, group, filled, some)
        asked = (legal > 0).any(dim=0) & there
        shares.append((asked & (legal <= 1).all(dim=0)).sum() / asked.sum().clamp(min=1))
    return shares
