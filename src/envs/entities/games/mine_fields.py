"""Many fields of MineSweeper, played at once (`envs.entities.vectorised`)."""

from collections.abc import Mapping, Sequence

import numpy as np

from envs.entities.games.minesweeper import (
    CANNON,
    COMPAT_ORDER,
    DEFUSE,
    FIRE,
    LABELS,
    MINE,
    MOVES,
    ORDER,
    ROBOT,
    MineSweeper,
)
from envs.entities.layout import Layout


class MineFields:
    """B games of equal arguments, each mine and robot of which keeps its place in the arrays when others are gone.

    Cells are numbers, x-major. What a cell has is looked up: its coordinates, the next cell by choice, and the mask.

    Args:
        games: they draw the fields of their episodes themselves.
        layout: of their observations; `arrays` are these.
    """

    def __init__(self, games: Sequence[MineSweeper], layout: Layout, arrays: Mapping[str, np.ndarray]):
        first, size = games[0], len(games)
        self._games, self._arrays, self._rules = games, arrays, first
        self._moves, self._fire = layout.slots["Move"], layout.slots[FIRE].start if FIRE in layout.slots else None
        self._mines, self._mined = np.zeros((size, first.nmines), np.int64), np.zeros((size, first.nmines), bool)
        self._robots, self._alive = np.zeros((size, first.nrobots), np.int64), np.zeros((size, first.nrobots), bool)
        self._cooldown, self._steps = np.zeros(size, np.int64), np.zeros(size, np.int64)
        cells = np.arange(first.width * first.height)
        self._x, self._y = np.divmod(cells, first.height)
        self._features = np.stack([self._x, self._y], 1).astype(np.float32)
        beyond = {label: self._after(step) for label, step in MOVES.items()}
        self._next = np.stack([*(np.where(out, cells, cell) for cell, out in beyond.values()), cells], 1)
        order = COMPAT_ORDER if first.compat else ORDER
        self._legal = np.stack([*(~beyond[label][1] for label in order), np.ones(len(cells), bool)], 1)

    def take(self, rows: np.ndarray) -> None:
        for row in rows.tolist():
            game = self._games[row]
            self._cooldown[row], self._steps[row] = game.cooldown, game.steps
            for cells, there, given in (
                (self._mines, self._mined, game.mines),
                (self._robots, self._alive, game.robots),
            ):
                there[row] = np.arange(there.shape[1]) < len(given)
                cells[row, : len(given)] = [x * game.height + y for x, y in given]

    def give_back(self, rows: np.ndarray) -> None:
        for row in rows.tolist():
            game = self._games[row]
            game.cooldown, game.steps = int(self._cooldown[row]), int(self._steps[row])
            game.mines = self._given(self._mines[row][self._mined[row]])
            game.robots = self._given(self._robots[row][self._alive[row]])

    def act(self, rows: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mines, mined, robots, alive = self._mines[rows], self._mined[rows], self._robots[rows], self._alive[rows]
        mine_x, mine_y = self._x[mines], self._y[mines]
        number = _numbers(alive)
        choices = np.take_along_axis(chosen[:, self._moves], np.maximum(number, 0), 1)
        lost, fires = np.zeros_like(alive), np.zeros(len(rows), bool)
        if self._fire is not None:
            fires = self._arrays["acts"][rows, self._fire] == 1
            target = np.where(fires, chosen[:, self._fire], -1)[:, None]
            lost = alive & (number == target - mined.sum(1, keepdims=True)) & fires[:, None]
            mined &= _numbers(mined) != target
        if not self._rules.compat:
            waited = np.maximum(self._cooldown[rows] - 1, 0)
            self._cooldown[rows] = np.where(fires, self._rules.cooldown_period, waited)
        for i in range(robots.shape[1]):  # one after the other: the first may defuse what the second steps on
            here, cell, choice = alive[:, i], robots[:, i], choices[:, i]
            near = np.abs(mine_x - self._x[cell][:, None]) + np.abs(mine_y - self._y[cell][:, None]) <= 1
            mined &= ~(near & (here & (choice == LABELS.index(DEFUSE)))[:, None])
            robots[:, i] = self._next[cell, choice]
        alive &= ~lost
        alive &= ~((robots[:, :, None] == mines[:, None, :]) & mined[:, None, :]).any(2)
        self._mined[rows], self._robots[rows], self._alive[rows] = mined, robots, alive
        self._steps[rows] += 1
        return self._ends(rows)

    def write(self, rows: np.ndarray) -> None:
        arrays, mined, alive = self._arrays, self._mined[rows], self._alive[rows]
        for array in arrays.values():
            array[rows] = 0
        arrays["actors"][rows] = -1
        for name, there, cells in ((MINE, mined, self._mines[rows]), (ROBOT, alive, self._robots[rows])):
            row, place = there.nonzero()
            arrays[f"entities/{name}"][rows[row], _numbers(there)[row, place]] = self._features[cells[row, place]]
            arrays[f"entities/{name}/count"][rows] = there.sum(1)
        _, done, truncated = self._ends(rows)
        acting = ~(done | truncated)
        mines, robots = mined.sum(1), alive.sum(1)
        row, place = (alive & acting[:, None]).nonzero()
        number = _numbers(alive)[row, place]
        at = rows[row], self._moves.start + number
        arrays["actors"][at] = mines[row] + number
        arrays["acts"][at] = 1
        arrays["avail_actions"][(*at, slice(len(LABELS)))] = self._legal[self._robots[at[0], place]]
        if self._rules.orbital_cannon:
            self._write_cannon(rows, acting, mines + robots)
        legal = arrays["avail_actions"][rows]
        legal[..., 0] |= arrays["acts"][rows] == 0
        arrays["avail_actions"][rows] = legal

    def _write_cannon(self, rows: np.ndarray, acting: np.ndarray, targets: np.ndarray) -> None:
        """`targets` int64 `[k]`: mines and robots of each."""
        arrays = self._arrays
        arrays[f"entities/{CANNON}"][rows, 0, 0] = self._cooldown[rows]
        arrays[f"entities/{CANNON}/count"][rows] = 1
        ready = acting & (self._cooldown[rows] == 0)
        rows, targets = rows[ready], targets[ready]
        arrays["actors"][rows, self._fire] = targets
        arrays["acts"][rows, self._fire] = 1
        numbers = np.arange(targets.max(initial=0))
        offered = numbers < targets[:, None]
        arrays[f"actees/{FIRE}"][rows, : len(numbers)] = np.where(offered, numbers, 0)
        arrays[f"actees/{FIRE}/count"][rows] = targets
        arrays["avail_actions"][rows, self._fire, : len(numbers)] = offered

    def _ends(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        won, limit = ~self._mined[rows].any(1), self._rules.step_limit
        done = won | ~self._alive[rows].any(1)
        late = np.zeros_like(done) if limit is None else self._steps[rows] >= limit
        return won.astype(np.float64), done, late & ~done

    def _after(self, step: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Of each cell, the number of the one a step further, and whether that is outside."""
        x, y = self._x + step[0], self._y + step[1]
        outside = (x < 0) | (x >= self._rules.width) | (y < 0) | (y >= self._rules.height)
        return x * self._rules.height + y, outside

    def _given(self, cells: np.ndarray) -> list[tuple[int, int]]:
        return list(zip(self._x[cells].tolist(), self._y[cells].tolist(), strict=True))


def _numbers(there: np.ndarray) -> np.ndarray:
    """Of bool `[k, n]`, which of those that are there each is: 0, 1, ..."""
    return there.cumsum(1) - 1
