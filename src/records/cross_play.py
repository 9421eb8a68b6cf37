"""A cross-play matrix of saved models: what it has, its files, and its means."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from records.recorded import json_mapping
from utils.files.whole_files import write_whole

# the folder of all matrices among the results, and the files of each
CROSS_PLAY, JSON, CSV = "cross_play", "cross_play.json", "cross_play.csv"
# of one matrix
MOST_MODELS = 100


@dataclass(frozen=True)
class Model:
    """A saved model of a run: `kind` is the name of its algorithm, `seed` that of the run."""

    token: str
    step: int
    kind: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error; None where there are too few numbers."""

    mean: float | None = None
    error: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate":
        if not len(values):
            return cls()
        spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
        return cls(float(np.mean(values)), spread)


@dataclass(frozen=True)
class Cell:
    """What was played by the model `row` in the first places and `column` in the others.

    `returns`: of the row's agents where groups are opposed, else of the team; `others`: of the column's; `wins`: of the
    row's.
    """

    row: int
    column: int
    returns: Estimate = field(default_factory=Estimate)
    others: Estimate = field(default_factory=Estimate)
    wins: Estimate = field(default_factory=Estimate)


@dataclass(frozen=True)
class Matrix:
    """Cells of all pairs of models.

    `places`: names of the agents or groups that the row's model plays, and of those that the column's plays.
    """

    env: str
    env_args: dict[str, Any]
    opposed: bool
    places: tuple[list[str], list[str]]
    episodes: int
    seed: int
    models: list[Model]
    cells: list[Cell]

    def cell(self, row: int, column: int) -> Cell:
        return self.cells[row * len(self.models) + column]

    def means(self, figure: str) -> dict[str, Estimate]:
        """Means of a figure of the cells by who met: the standard error is that over pairs.

        Args:
            figure: "returns" or "wins".
        """
        kinds: dict[str, list[float]] = {"self-play": [], "other seeds of it": [], "other algorithms": []}
        for cell in self.cells:
            value = getattr(cell, figure).mean
            if value is not None:
                kinds[self._met(cell)].append(value)
        return {kind: Estimate.of(values) for kind, values in kinds.items() if values}

    def _met(self, cell: Cell) -> str:
        if cell.row == cell.column:
            return "self-play"
        row, column = self.models[cell.row], self.models[cell.column]
        return "other seeds of it" if row.kind == column.kind else "other algorithms"


def write_matrix(matrix: Matrix, folder: Path) -> None:
    """Write both files, each whole.

    Raises:
        OSError: they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(str(folder / JSON), (json.dumps(asdict(matrix), indent=1) + "\n").encode())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    figures = ("return", "column_return", "win_rate")
    models = ("row", "row_step", "column", "column_step")
    writer.writerow([*models, "episodes", *(f"{name}_{what}" for name in figures for what in ("mean", "se"))])
    for cell in matrix.cells:
        row, column = matrix.models[cell.row], matrix.models[cell.column]
        numbers = [x for one in (cell.returns, cell.others, cell.wins) for x in (one.mean, one.error)]
        writer.writerow([row.token, row.step, column.token, column.step, matrix.episodes, *numbers])
    write_whole(str(folder / CSV), text.getvalue().encode())


def read_matrix(folder: Path) -> Matrix | None:
    """What `write_matrix` has written; None: there is no such file, or it is damaged."""
    found = json_mapping(folder / JSON)
    try:
        models = [Model(str(one["token"]), int(one["step"]), str(one["kind"]), one["seed"]) for one in found["models"]]
        cells = [
            Cell(int(one["row"]), int(one["column"]), *(_estimate(one[key]) for key in ("returns", "others", "wins")))
            for one in found["cells"]
        ]
        first, others = ([str(name) for name in names] for names in found["places"])
        plain = str(found["env"]), dict(found["env_args"]), bool(found["opposed"])
        matrix = Matrix(*plain, (first, others), int(found["episodes"]), int(found["seed"]), models, cells)
    except (KeyError, TypeError, ValueError):
        return None
    count = len(models)
    whole = 0 < count <= MOST_MODELS and [(c.row, c.column) for c in cells] == [*_pairs(count)]
    return matrix if whole else None


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((row, column) for row in range(count) for column in range(count))


def _estimate(found: Any) -> Estimate:
    number: Callable[[Any], float | None] = lambda x: None if x is None else float(x)  # noqa: E731
    return Estimate(number(found["mean"]), number(found["error"]))
