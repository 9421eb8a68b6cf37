"""Episodes that entity-gym's games played, and the same episodes in ours.

`MUSTER_ENTITY_GYM=FOLDER python tests/support/entity_gym_traces.py` plays the cases below with the real package and
stores what they show; FOLDER has entity_gym and the packages that it needs (ragged-buffer, numpy < 2, click, ...).
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from envs.entities.acting import actions_for
from envs.entities.games import GAMES
from envs.entities.numbering import EntityNumbering, Seen

CHILD = Path(__file__).with_name("entity_gym_child.py")
STORED = Path(__file__).with_name("entity_gym_traces.json.gz")
FOLDER = os.environ.get("MUSTER_ENTITY_GYM")


@dataclass(frozen=True)
class Case:
    """A game, its arguments in entity-gym, and how much of it is played."""

    name: str
    kwargs: dict = field(default_factory=dict)
    seed: int = 1
    steps: int = 40
    episodes: int = 1000

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.kwargs.items()), str(self.seed)])


def cases(seed: int, steps: int) -> list[Case]:
    """Every game in several forms; Minefield one episode each, since ours shows another first `step` in later ones."""
    small = {"width": 60.0, "max_mines": 3}
    return [
        Case("MoveToOrigin", {}, seed, steps),
        Case("CherryPick", {"num_cherries": 6}, seed, 8),
        Case("CherryPick", {}, seed, 18),
        Case("PickMatchingBalls", {"max_balls": 4, "randomize": True, "one_hot": True}, seed, steps),
        Case("PickMatchingBalls", {}, seed, steps // 4),
        Case("Minefield", {}, seed, steps, 1),
        Case("Minefield", {"max_steps": 7, "translate": True}, seed, steps, 1),
        *(Case("Minefield", small, seed + more, 100, 1) for more in range(3)),
        Case("MultiSnake", {"max_steps": 6}, seed, steps),
        Case("MultiSnake", {"board_size": 3, "num_snakes": 1, "max_snake_length": 3}, seed, 4 * steps),
        Case("MultiSnake", {"board_size": 4, "num_snakes": 3, "max_snake_length": 3}, seed, 2 * steps),
        Case("MultiArmedBandit", {}, seed, steps),
        Case("NotHotdog", {}, seed, steps),
        Case("Xor", {}, seed, steps),
        Case("Count", {}, seed, steps),
        Case("Count", {"masked_choices": 3}, seed, steps // 2),
        Case("FloorIsLava", {}, seed, steps),
        Case("MineSweeper", {}, seed, 117),
        Case("MineSweeper", {"orbital_cannon": True, "cooldown_period": 0, "nrobots": 4}, seed, 117),
        Case("MineSweeper", {"width": 3, "height": 5, "nmines": 4, "orbital_cannon": True}, seed, 117),
        Case("RockPaperScissors", {}, seed, steps),
        Case("RockPaperScissors", {"cheat": True}, seed, 4),
        *(Case("TreasureHunt", {}, seed + more, 2 * steps) for more in range(4)),
    ]


def theirs(wanted: list[Case], folder: str) -> list[list[dict]]:
    """What each step of these cases shows in entity-gym."""
    with tempfile.TemporaryDirectory() as scratch:
        given, made = Path(scratch) / "in.json", Path(scratch) / "out.json"
        given.write_text(json.dumps([asdict(case) for case in wanted]))
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": folder}
        subprocess.run([sys.executable, str(CHILD), str(given), str(made)], env=environment, check=True, timeout=300)
        return json.loads(made.read_text())


def stored() -> list[tuple[Case, list[dict]]]:
    """Cases that entity-gym has played before."""
    return [(Case(**case), rows) for case, rows in json.loads(gzip.decompress(STORED.read_bytes()))]


def ours(case: Case, rows: list[dict]) -> list[dict]:
    """What each step shows in our game, with the same seed and choices."""
    compat = {"compat": True} if case.name == "MineSweeper" else {}
    env = GAMES[case.name](**case.kwargs, **compat)
    env.seed(case.seed)
    space = env.action_space()
    numbering = EntityNumbering(env.obs_space(), space)
    seen = numbering.seen(env.reset())
    made = [_shown(seen)]
    for before in rows[:-1]:
        ended = made[-1]["ended"]
        seen = numbering.seen(env.reset() if ended else env.act(actions_for(seen, space, before["chosen"])))
        made.append(_shown(seen))
    return made


def _shown(seen: Seen) -> dict:
    offers = {
        name: {
            "actors": offer.actors.tolist(),
            "actees": None if offer.actees is None else offer.actees.tolist(),
            "mask": None if offer.mask is None or not offer.mask.size else offer.mask.astype(int).tolist(),
        }
        for name, offer in seen.offers.items()
    }
    return {
        "features": {name: rows.tolist() for name, rows in seen.features.items() if len(rows)},
        "global": seen.global_features.tolist(),
        "visible": {name: flags.tolist() for name, flags in seen.visible.items()},
        "offers": offers,
        "reward": seen.reward,
        "ended": seen.done or seen.truncated,
    }


def assert_equal(case: Case, expected: list[dict], found: list[dict]) -> None:
    """Every number, mask and end of every step; of FloorIsLava the actor is ours."""
    for t, (theirs_now, ours_now) in enumerate(zip(expected, found, strict=True)):
        where = f"{case}, row {t}"
        for key in ("offers", "visible", "ended"):
            assert ours_now[key] == _mended(case, theirs_now, key), f"{where}: {key}"
        assert list(ours_now["features"]) == list(theirs_now["features"]), where
        for name, values in ours_now["features"].items():
            np.testing.assert_allclose(values, theirs_now["features"][name], rtol=2e-6, atol=1e-6, err_msg=where)
        np.testing.assert_allclose(ours_now["global"], theirs_now["global"], err_msg=where)
        np.testing.assert_allclose(ours_now["reward"], theirs_now["reward"], rtol=1e-9, atol=1e-12, err_msg=where)


def _mended(case: Case, row: dict, key: str) -> object:
    if case.name != "FloorIsLava" or key != "offers":
        return row[key]
    assert row["offers"]["move"]["actors"] == [0]
    player = sum(map(len, row["features"].values())) - 1
    return {"move": {**row["offers"]["move"], "actors": [player]}}


if __name__ == "__main__":
    wanted = cases(1, 40)
    pairs = [[asdict(case), rows] for case, rows in zip(wanted, theirs(wanted, FOLDER), strict=True)]
    STORED.write_bytes(gzip.compress(json.dumps(pairs, separators=(",", ":")).encode(), mtime=0))
