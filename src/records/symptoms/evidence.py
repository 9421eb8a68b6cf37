"""What the rules see of a run: its config, its curves, and what its rollouts were made of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from records.diagnostics import ROLLOUT
from records.metric_rows import Rows

# names of figures of rollouts, which `experiment.vitals` takes and the diagnostics keep under ROLLOUT:
# episodes that ended, and those of them that were cut off; shares of observations outside of their announced bounds,
# and of decisions with one legal choice; the largest absolute number in an observation
ENDED, CUT_OFF, OUTSIDE, ONE_LEGAL, LARGEST_OBS = "ended", "cut_off", "obs_outside", "one_legal", "obs_largest"

# the statistics that rules read, of teams after their names
LOOKED_AT = frozenset(
    """return_mean return_std test_return_mean test_return_std ep_length_mean epsilon entropy pi_max approx_kl
    clip_fraction grad_norm agent_grad_norm critic_grad_norm td_error_abs q_taken_mean target_mean td_chosen_qs v_mean
    skipped_updates skipped_rollouts""".split()
)
RETURNS = ("return_mean", "return_std", "test_return_mean", "test_return_std")
# the share of a run in which it may have learned nothing yet
EARLY = 0.2
# of a config's numbers; a record of others may have any, and NaN
LARGEST = 1e30


class Curve(NamedTuple):
    """The values of one statistic that are finite, in order: arrays of one length; `episode`: training episodes."""

    t: np.ndarray
    value: np.ndarray
    episode: np.ndarray

    @classmethod
    def of(cls, rows: Iterable[tuple[int, float]]) -> "Curve":
        """From (step, value), without counts of episodes."""
        table = np.array(list(rows), dtype=np.float64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1], np.zeros(len(table))).finite()

    @classmethod
    def of_rows(cls, rows: Rows) -> "Curve":
        return cls(rows.t_env, rows.value, rows.episode).finite()

    def finite(self) -> "Curve":
        known = np.isfinite(self.value)
        return self if known.all() else Curve(*(column[known] for column in self))

    def last(self, share: float = 0.25, least: int = 3) -> np.ndarray:
        """The last values: a share of all, and `least` if there are so many."""
        return self.value[-max(least, int(np.ceil(share * len(self.value)))) :]


EMPTY = Curve.of(())


@dataclass(frozen=True)
class Evidence:
    """A run as the rules see it.

    Attributes:
        config: its merged config.
        curves: by the names of the metric log.
        rollouts: by the names above.
        ended: it has reached its end.
        team: whose statistics `curve` gives, of a run with several; "" of the only one.
    """

    config: Mapping[str, Any]
    curves: Mapping[str, Curve]
    rollouts: Mapping[str, Curve] = field(default_factory=dict)
    ended: bool = True
    team: str = ""

    def curve(self, name: str) -> Curve:
        """A statistic of this team; empty if there is none."""
        return self.curves.get(f"{self.team}/{name}" if self.team else name, EMPTY)

    def rollout(self, name: str) -> np.ndarray:
        """The values of a figure of rollouts."""
        return self.rollouts.get(name, EMPTY).value

    def number(self, key: str, default: float = 0.0) -> float:
        """A key of the config, if it is a number; a schedule counts as `default`, and what no run can have."""
        value = self.config.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            return default
        return float(value)

    @cached_property
    def t_env(self) -> float:
        """The last step that anything was logged at."""
        return max((float(curve.t[-1]) for curve in self.curves.values() if len(curve.t)), default=0.0)

    @cached_property
    def cancels(self) -> bool:
        """Whether players lose what others win: their mean return is always 0, and says nothing of any of them."""
        within = f"{self.team}/" if self.team else ""
        players = [key for key in self.curves if key.startswith(within) and "/" in key.removeprefix(within)]
        gained = any(self.curves[key].value.any() for key in players if key.rpartition("/")[2] in RETURNS)
        return gained and not any(self.curve(name).value.any() for name in RETURNS)

    @property
    def early(self) -> bool:
        """Whether the run trains and has not come far: what is slow to begin is not ill yet."""
        return not self.ended and self.t_env < EARLY * self.number("t_max")


def is_looked_at(key: str) -> bool:
    """Whether rules read this statistic of the metric log."""
    return key.rpartition("/")[2] in LOOKED_AT


def rollouts_of(diagnostics: Mapping[str, Rows]) -> dict[str, Curve]:
    """The figures of rollouts in a log of diagnostics, by name."""
    own = f"{ROLLOUT}/"
    return {key.removeprefix(own): Curve.of_rows(rows) for key, rows in diagnostics.items() if key.startswith(own)}
