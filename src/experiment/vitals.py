"""What rollouts are made of, for the doctor (`records.symptoms`): legal choices, sizes of observations, ends."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch as th

from envs.contract.fields import AGENTS, EnvSpec, FieldSpec
from learners.figures import numbers
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
        self._found: dict[str, list[float]] = defaultdict(list)
        self._rows: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def look(self, batch: Any, t_env: int) -> None:
        """Look at a rollout of training, unless enough of this interval has been seen."""
        if t_env - self._since >= self._interval:
            self._since, self._seen = t_env, 0
        if self._spec is None or self._seen >= ENOUGH:
            return
        found = numbers(dict(self._figures(batch)))
        self._seen += int(found.pop("steps")) if str(batch.device) == "cpu" else ENOUGH
        for name, value in found.items():
            self._found[name].append(value)

    def write(self) -> None:
        """Add what was seen since the last time to the diagnostics."""
        figures = {}
        for name, values in self._found.items():
            join = sum if name in (ENDED, CUT_OFF) else max if name == LARGEST_OBS else _mean
            figures[name] = join(values)
            self._rows[name].append((self._diagnostics.t_env, figures[name]))
        self._found.clear()
        self._diagnostics.note_rollouts(figures)

    def curves(self) -> Mapping[str, Curve]:
        """What was written in this session, by name."""
        return {name: Curve.of(rows) for name, rows in self._rows.items()}

    def _figures(self, batch: Any) -> Iterator[tuple[str, Any]]:
        filled = batch["filled"][..., 0].bool()
        yield "steps", filled.sum()
        ended = {end: ((batch[end][..., 0] > 0) & filled).sum() for end in ("terminated", "truncated")}
        yield ENDED, ended["terminated"] + ended["truncated"]
        yield CUT_OFF, ended["truncated"]
        largest, outside, forced = [], [], []
        for path, field in self._spec.fields.items() if self._spec is not None else ():
            if path not in batch.scheme or not (field.kind == "observation" or field.of):
                continue
            seen = batch[path][filled if field.group is None else _there(batch, field.group, filled)]
            if not len(seen):
                continue
            if field.of:
                legal = seen.sum(dim=-1)
                forced.append((legal == 1).sum() / (legal > 0).sum().clamp(min=1))
            elif seen.is_floating_point():
                largest.append(seen.abs().max())
                if field.capacity is None and (field.low, field.high) != (None, None):
                    outside.append(_outside(seen, field))
        for name, found in ((LARGEST_OBS, largest), (OUTSIDE, outside), (ONE_LEGAL, forced)):
            if found:
                yield name, th.stack(found).max()


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _there(batch: Any, group: str, filled: th.Tensor) -> th.Tensor:
    """Which steps `filled` `[B, T]` have which agents: bool `[B, T, n]`."""
    agents = filled.unsqueeze(-1).expand(*filled.shape, batch.groups[group])
    return agents & batch["present"][..., 0].bool() if group == AGENTS and "present" in batch.scheme else agents


def _outside(seen: th.Tensor, field: FieldSpec) -> th.Tensor:
    """The share of entries `[N, *shape]` that have a number outside of the bounds of their field."""
    low, high = (th.as_tensor(bound, device=seen.device) for bound in field.bounds(-np.inf, np.inf, np.float32))
    slack = ROUNDING * (1 + th.minimum(low.abs(), high.abs()).nan_to_num(posinf=0.0))
    return ((seen < low - slack) | (seen > high + slack)).flatten(1).any(dim=1).float().mean()
