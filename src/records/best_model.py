"""The best of a run's tested models: how models are ranked, which is played, and the best one's copy in `best/`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from records.layout import BEST, BEST_RECORD
from records.recorded import json_mapping
from utils.files.folders import replaced_by

# the share of battles won counts first, where there is one; among equals the mean return, unless all were won: SMAC
# also pays for what enemies regenerate, so battles that take longer may return more
WON = "test_battle_won_mean"
RANKED_BY = (WON, "test_return_mean")


@dataclass
class RankedModel:
    """A model after `step` steps, and the results of its test, by statistic: those of `RANKED_BY` that it has."""

    step: int
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[float, ...]:
        """Greater is better; of equals, the newer: sums of the same rewards in another order are equal."""
        all_won = self.figures.get(WON) == 1
        figures = (0.0 if all_won and key != WON else self.figures.get(key) for key in RANKED_BY)
        # a test with NaN never wins
        known = (-inf if figure is None or figure != figure else float(f"{figure:.9g}") for figure in figures)
        return (*known, self.step)

    @property
    def tested(self) -> bool:
        """Whether there are figures to rank it by."""
        return max(self.rank[:-1]) > -inf

    def __str__(self) -> str:
        names = {"test_return_mean": "test return", "test_battle_won_mean": "won"}
        texts = [f"{name} {self.figures[key]:.4g}" for key, name in names.items() if key in self.figures]
        return ", ".join(texts) or "not tested"


@dataclass
class SavedModel:
    """A model that `find_checkpoint(folder, step)` finds, and the result of its test.

    `itself`: whether this very model was tested, and not the run some steps before or after.
    """

    folder: Path
    model: RankedModel
    itself: bool = True

    @property
    def step(self) -> int:
        return self.model.step


def to_play(found: Sequence[SavedModel]) -> SavedModel:
    """The model that is played if nothing picks one, by whatever name it was asked for: the one that tested best.

    Without tests, as in PyMARL's folders, the newest. Of equals, one that was tested itself wins, then the newest.
    """
    return max(found, key=lambda saved: (*saved.model.rank[:-1], saved.itself, saved.step))


def reason_to_play(found: Sequence[SavedModel], how: str = "load_step=STEP picks another") -> str:
    """Why `to_play` returns its model, in a sentence; `how`: another one can be picked. Empty if there is no other."""
    steps = {saved.step for saved in found}
    if len(steps) < 2:
        return ""
    which = "the one that tested best" if to_play(found).model.tested else "the newest, as no test results are known,"
    return f"Of {len(steps)} saved models, {which} is played; {how}."


def best_of(models: Path) -> RankedModel | None:
    """The model in `<models>/best/`, or None."""
    found = recorded_best(models / BEST)
    if found is None:
        return None
    _, content = found
    figures = {key: content[key] for key in RANKED_BY if type(content.get(key)) in (int, float)}
    return RankedModel(content["step"], figures)


def last_test_in(manifest: Mapping[str, Any]) -> dict[str, float]:
    """The figures of the last test before a checkpoint, from its manifest."""
    value = manifest.get("test_return_mean")
    return {"test_return_mean": value} if isinstance(value, int | float) and value == value else {}


def recorded_best(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Where the model in `folder` is now, and what `best.json` says of it, with a whole `step`; None without that."""
    for place in (folder, replaced_by(folder)):  # the process may have died while it replaced one
        content = json_mapping(place / BEST_RECORD)
        if type(content.get("step")) is int and content["step"] >= 0:
            return place, content
    return None
