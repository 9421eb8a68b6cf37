"""Kitchens: those by name, and files in Overcooked-AI's form, a dictionary in Python's words."""

import ast
import importlib.util
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from envs.contract.arguments import LARGEST, require_number
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

FLOOR, COUNTER, ONIONS, TOMATOES, DISHES, POT, SERVING = range(7)
LETTERS = " XOTDPS"  # of the cells, in this order
INGREDIENTS = ("onion", "tomato")
SHAPING = {"PLACEMENT_IN_POT_REW": 3, "DISH_PICKUP_REWARD": 3, "SOUP_PICKUP_REWARD": 5}
UNUSED = ("DISH_DISP_DISTANCE_REW", "POT_DISTANCE_REW", "SOUP_DISTANCE_REW", "num_items_for_soup")
USUAL = 20  # what a soup is worth, and the steps that it cooks
KEYS = (
    *("grid", "start_all_orders", "start_bonus_orders", "rew_shaping_params", "order_bonus", "max_num_ingredients"),
    *("cook_time", "delivery_reward", "recipe_values", "recipe_times", "onion_value", "tomato_value"),
    *("onion_time", "tomato_time", "num_items_for_soup"),
)
LISTS = ("start_all_orders", "start_bonus_orders", "recipe_values", "recipe_times")
MOST = 100  # ingredients of a soup
ENDING = ".layout"
PACKAGES = {
    "overcooked_ai_py": "data/layouts",
    "pymarlzooplus": "envs/overcooked_ai/src/overcooked_ai_py/data/layouts",
}
_THREE_ONIONS = {"start_all_orders": [{"ingredients": ["onion"] * 3}]}
BY_NAME: dict[str, dict[str, Any]] = {
    "cramped_room": {"grid": "XXPXX\nO  2O\nX1  X\nXDXSX", **_THREE_ONIONS},
    "asymmetric_advantages": {
        "grid": "XXXXXXXXX\nO XSXOX S\nX   P 1 X\nX2  P   X\nXXXDXDXXX",
        **_THREE_ONIONS,
    },
    "coordination_ring": {"grid": "XXXPX\nX 1 P\nD2X X\nO   X\nXOSXX", **_THREE_ONIONS},
    "forced_coordination": {"grid": "XXXPX\nO X1P\nO2X X\nD X X\nXXXSX", **_THREE_ONIONS},
    "counter_circuit_o_1order": {"grid": "XXXPPXXX\nX  2   X\nD XXXX S\nX  1   X\nXXXOOXXX", **_THREE_ONIONS},
    "counter_circuit": {
        "grid": "XXXPDPXXX\nX   2   X\nX XXXXX X\nX   1   X\nXXXOSTXXX",
        "start_all_orders": [
            {"ingredients": ["onion", "tomato", "tomato"]},
            {"ingredients": ["onion", "onion", "tomato"]},
            {"ingredients": ["onion", "tomato"]},
        ],
        "start_bonus_orders": [{"ingredients": ["onion", "tomato"]}],
        "onion_value": 21,
        "tomato_value": 13,
        "onion_time": 15,
        "tomato_time": 7,
    },
}


class Layout:
    """
    Args:
        name: for messages.
        said: the dictionary of a layout file.

    Raises:
        ConfigError: it makes no kitchen for two.
    """

    def __init__(self, name: str, said: Mapping[str, Any]):
        self.name = name
        for key in said:
            if key not in KEYS:
                raise ConfigError(f"{self._where}: there is no '{quoted(key)}'.{suggestion(str(key), KEYS)}")
        self.said = said = {key: value for key, value in said.items() if value is not None}
        for key, value in said.items():
            self._require_kind(key, value)
        self.ground, self.starts = self._read_grid()
        self.most = int(said.get("max_num_ingredients", 3))  # ingredients of a soup
        self.orders = self._recipes("start_all_orders")
        self.bonuses = self._recipes("start_bonus_orders")
        shaping = said.get("rew_shaping_params") or SHAPING
        self.shaping = [float(shaping.get(key, 0)) for key in SHAPING]
        for one, other in (("onion_value", "tomato_value"), ("onion_time", "tomato_time")):
            if (one in said) != (other in said):
                raise ConfigError(f"{self._where}: {one} and {other} belong together.")
        for key in ("recipe_values", "recipe_times"):
            if key in said and len(said[key]) != len(self.orders):
                raise ConfigError(f"{self._where}: {key} needs a number for each recipe of start_all_orders.")

    @property
    def _where(self) -> str:
        return f"env_args.key={quoted(self.name)}"

    def _require_kind(self, key: str, value: Any) -> None:
        """Refuse a value of another kind than the package's files have. Raises ConfigError."""
        where, least = f"{self._where}: {key}", 0 if "time" in key else -LARGEST
        if key == "max_num_ingredients":
            require_number(where, value, 1, MOST, whole=True)
        elif key in LISTS:
            if not isinstance(value, list | tuple):
                raise ConfigError(f"{where} is {quoted(value)}; it must be a list.")
            for number in value if key in ("recipe_values", "recipe_times") else ():
                require_number(where, number, least, LARGEST)
        elif key == "rew_shaping_params":
            if not isinstance(value, Mapping):
                raise ConfigError(f"{where} is {quoted(value)}; it must be a dictionary of numbers.")
            for name, number in value.items():
                require_number(f"{where}['{quoted(name)}']", number, -LARGEST, LARGEST)
        elif key not in ("grid", *UNUSED):
            require_number(where, value, least, LARGEST)

    def _read_grid(self) -> tuple[np.ndarray, np.ndarray]:
        """`[H, W]` int64 of cells, and both cooks' x and y `[2, 2]`."""
        rows = [row.strip() for row in str(self.said.get("grid", "")).split("\n")]
        if len({len(row) for row in rows}) != 1 or len(rows) < 3 or len(rows[0]) < 3:
            raise ConfigError(f"{self._where}: the rows of the grid must be equally long, 3 cells or more each way.")
        starts = {}
        for (y, x), letter in np.ndenumerate(np.array([list(row) for row in rows])):
            if letter in "12" and letter not in starts:
                starts[str(letter)] = (x, y)
            elif letter not in LETTERS:
                raise ConfigError(f"{self._where}: a cell of the grid is '{letter}'; cells are '{LETTERS}', 1 and 2.")
        ground = np.array([[LETTERS.index(" " if letter in "12" else letter) for letter in row] for row in rows])
        if len(starts) != 2:
            raise ConfigError(f"{self._where}: the grid must have the cooks 1 and 2, once each.")
        edges = np.concatenate([ground[[0, -1]].ravel(), ground[:, [0, -1]].ravel()])
        if (edges == FLOOR).any():
            raise ConfigError(f"{self._where}: there is floor at the edge of the grid.")
        for cells in ((DISHES,), (SERVING,), (POT,), (ONIONS, TOMATOES)):
            if not np.isin(ground, cells).any():
                raise ConfigError(f"{self._where}: the grid has no {' or '.join(LETTERS[cell] for cell in cells)}.")
        return ground, np.array([starts["1"], starts["2"]])

    def _recipes(self, key: str) -> list[tuple[int, int]]:
        """Onions and tomatoes of each."""
        recipes = []
        for one in self.said.get(key) or []:
            listed = one.get("ingredients") if isinstance(one, Mapping) else None
            listed = listed if isinstance(listed, list | tuple) else []
            counts = [list(listed).count(name) for name in INGREDIENTS]
            if not 1 <= sum(counts) == len(listed) <= self.most:
                raise ConfigError(f"{self._where}: {key}: {quoted(one)} is no recipe of 1 to {self.most} ingredients.")
            recipes.append((counts[0], counts[1]))
        return recipes

    def cells(self, kind: int) -> np.ndarray:
        """x and y of all cells of a kind, row by row, `[N, 2]`."""
        return np.argwhere(self.ground == kind)[:, ::-1]

    @cached_property
    def times(self) -> np.ndarray:
        """Steps that a soup of o onions and t tomatoes cooks, `[o, t]`."""
        return self._table("cook_time", "recipe_times", "time").astype(np.int64)

    @cached_property
    def values(self) -> np.ndarray:
        """What is paid for it; 0 if nobody orders it."""
        values = self._table("delivery_reward", "recipe_values", "value")
        for recipe in np.ndindex(values.shape):
            if self.orders and recipe not in self.orders:
                values[recipe] = 0.0
            elif recipe in self.bonuses:
                values[recipe] *= self.said.get("order_bonus", 2)
        return values

    def _table(self, for_all: str, by_recipe: str, by_ingredient: str) -> np.ndarray:
        """In the package's order: one number for all recipes, one for each, one for each ingredient, the usual."""
        table = np.full((self.most + 1, self.most + 1), float(USUAL))
        weights = [self.said.get(f"{name}_{by_ingredient}") for name in INGREDIENTS]
        if weights[0] and weights[1]:
            table = np.add.outer(weights[0] * np.arange(self.most + 1), weights[1] * np.arange(self.most + 1.0))
        for recipe, number in zip(self.orders, self.said.get(by_recipe) or [], strict=False):
            table[recipe] = number
        if self.said.get(for_all):
            table[:] = self.said[for_all]
        return table


def layout_of(key: str) -> Layout:
    """A kitchen by its name, or in a file. Raises ConfigError: there is none, or it makes no kitchen for two."""
    if key in BY_NAME:
        return Layout(key, BY_NAME[key])
    path = Path(key) if str(key).endswith(ENDING) else _installed(key)
    if path is None:
        raise ConfigError(
            f"env_args.key is '{quoted(key)}'.{suggestion(str(key), BY_NAME)} Others are files, such as "
            "env_args.key=mine.layout, or names of Overcooked-AI's: pip install --no-deps overcooked-ai."
        )
    try:
        said = ast.literal_eval(path.read_text().strip())
    except OSError as error:
        raise ConfigError(f"env_args.key={quoted(key)}: {error.strerror}.") from None
    except (ValueError, SyntaxError) as error:
        raise ConfigError(f"env_args.key={quoted(key)} is not a dictionary of plain values: {error}.") from None
    if not isinstance(said, Mapping):
        raise ConfigError(f"env_args.key={quoted(key)} has no dictionary.")
    return Layout(key, said)


def _installed(key: str) -> Path | None:
    """The file of a kitchen of Overcooked-AI's or PyMARLzoo+'s, whose code is not imported; it needs another NumPy."""
    for package, folder in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            path = Path(place) / folder / f"{key}{ENDING}"
            if str(key).isidentifier() and path.is_file():
                return path
    return None
