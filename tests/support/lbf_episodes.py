"""Episodes of lbforaging, for tests/envs/lbf: recorded by the package, read without it.

    python tests/support/lbf_episodes.py    # writes lbf_episodes.npz; needs lbforaging 2.0.0

Of each case: the first states of its episodes, all actions, and what the package made of these.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FILE = Path(__file__).with_suffix(".npz")
EPISODES, LOAD = 4, 5
MOVES = {(-1, 0): 1, (1, 0): 2, (0, -1): 3, (0, 1): 4}

# ids, those that the package does not register with one that it does and what differs
IDS: dict[str, tuple[str, dict[str, Any]]] = {
    key: (key, {})
    for key in (
        "Foraging-5x5-2p-1f-v3",
        "Foraging-5x5-9p-4f-v3",
        "Foraging-2s-5x5-4p-2f-coop-v3",
        "Foraging-6x6-7p-3f-v3",
        "Foraging-2s-6x6-6p-4f-v3",
        "Foraging-8x8-2p-2f-coop-v3",
        "Foraging-2s-8x8-2p-2f-coop-v3",
        "Foraging-8x8-2p-3f-v3",
        "Foraging-2s-9x9-3p-2f-v3",
        "Foraging-10x10-3p-3f-v3",
        "Foraging-2s-10x10-3p-3f-v3",
        "Foraging-10x10-8p-4f-coop-v3",
        "Foraging-12x12-5p-4f-v3",
        "Foraging-2s-12x12-2p-2f-coop-v3",
        "Foraging-15x15-4p-3f-v3",
        "Foraging-2s-15x15-9p-4f-v3",
        "Foraging-19x19-2p-4f-coop-v3",
    )
} | {
    "Foraging-15x15-3p-5f-v3": ("Foraging-15x15-3p-4f-v3", {"max_num_food": 5}),
    "Foraging-15x15-4p-5f-v3": ("Foraging-15x15-4p-4f-v3", {"max_num_food": 5}),
    "Foraging-2s-11x11-4p-9f-v3": ("Foraging-2s-11x11-4p-4f-v3", {"max_num_food": 9}),
    "Foraging-5x5-3p-9f-v3": ("Foraging-5x5-3p-4f-v3", {"max_num_food": 9}),
    "Foraging-4s-11x11-3p-2f-coop-v3": ("Foraging-11x11-3p-2f-coop-v3", {"sight": 4}),
    "Foraging-1s-7x7-4p-3f-v3": ("Foraging-7x7-4p-3f-v3", {"sight": 1}),
    "Foraging-8x8-3p-3f-pen-v3": ("Foraging-8x8-3p-3f-v3", {"penalty": 0.1}),
    "Foraging-2s-7x7-4p-3f-coop-pen-v3": ("Foraging-2s-7x7-4p-3f-coop-v3", {"penalty": 0.1}),
    "Foraging-8x8-2p-4f-ind-v3": ("Foraging-8x8-2p-4f-v3", {"max_food_level": 1}),
    "Foraging-grid-6x6-3p-3f-v3": ("Foraging-6x6-3p-3f-v3", {"grid_observation": True}),
    "Foraging-grid-2s-8x8-4p-3f-coop-v3": ("Foraging-8x8-4p-3f-coop-v3", {"grid_observation": True, "sight": 2}),
}
# arguments of the constructor beyond those of an id
WORDS: list[tuple[str, dict[str, Any]]] = [
    ("Foraging-8x8-3p-3f-v3", {"normalize_reward": False}),
    ("Foraging-6x6-4p-3f-v3", {"observe_agent_levels": False}),
    ("Foraging-2s-6x6-4p-3f-v3", {"observe_agent_levels": False, "penalty": 0.25}),
    ("Foraging-6x6-4p-3f-v3", {"observe_agent_levels": False, "grid_observation": True, "sight": 3}),
    ("Foraging-7x7-3p-2f-v3", {"min_player_level": [1, 2, 3], "max_player_level": [2, 2, 6], "penalty": 0.5}),
    ("Foraging-9x9-3p-2f-v3", {"players": 4, "max_num_food": 3, "min_food_level": [1, 2, 5], "max_food_level": 5}),
    ("Foraging-8x8-3p-3f-v3", {"min_player_level": 3, "max_player_level": 3, "min_food_level": 3, "max_food_level": 3}),
]


class Recorded(NamedTuple):
    key: str
    words: dict[str, Any]  # of the constructor, instead of the id's
    lengths: np.ndarray  # [E] int16
    players: np.ndarray  # [E, n, 3] int8: row, column and level at the start
    foods: np.ndarray  # [E, F, 3] int8, with zeros behind the last
    actions: np.ndarray  # [T, n] int8, of all episodes
    rewards: np.ndarray  # [T, n] float64
    ended: np.ndarray  # [T] bool
    obs: np.ndarray  # [T + E, n, d] int8, also the first of each episode


def read() -> list[Recorded]:
    with np.load(FILE) as file:
        cases = json.loads(str(file["cases"]))
        return [
            Recorded(key, words, *(file[f"{k}.{name}"] for name in Recorded._fields[2:]))
            for k, (key, words) in enumerate(cases)
        ]


def arguments_of(key: str, words: dict[str, Any]) -> dict[str, Any]:
    """Of the package's constructor."""
    import gymnasium
    import lbforaging  # noqa: F401

    registered, changes = IDS.get(key, (key, {}))
    return {**gymnasium.spec(registered).kwargs, **changes, **words}


def made(key: str, words: dict[str, Any]) -> Any:
    import gymnasium
    from lbforaging.foraging.environment import ForagingEnv

    class Foraging(ForagingEnv):
        def _get_observation_space(self) -> Any:
            if not self._grid_observation:
                return super()._get_observation_space()
            side = 2 * self.sight + 1  # the package's own space cannot be made
            return gymnasium.spaces.Box(0, 1000, (3, side, side), np.float32)

    return Foraging(**arguments_of(key, words))


def chosen(env: Any, rng: np.random.Generator) -> list[int]:
    """Half random, half towards the nearest food: random play alone seldom loads."""
    actions, foods = [], np.argwhere(env.field)
    for player in env.players:
        away = foods - player.position
        row, column = away[np.abs(away).sum(axis=1).argmin()]
        if rng.random() < 0.4:
            actions.append(int(rng.integers(6)))
        elif abs(row) + abs(column) == 1:
            actions.append(LOAD)
        else:
            down = abs(row) > abs(column)
            actions.append(MOVES[(int(np.sign(row)), 0) if down else (0, int(np.sign(column)))])
    return actions


def record(key: str, words: dict[str, Any], seed: int) -> Recorded:
    env, rng = made(key, words), np.random.default_rng(seed)
    lengths, players, foods, actions, rewards, ended, seen = [], [], [], [], [], [], []
    for episode in range(EPISODES):
        obs, _ = env.reset(seed=seed if episode == 0 else None)
        seen.append(obs)
        players.append([(*player.position, player.level) for player in env.players])
        places = [(row, column, env.field[row, column]) for row, column in np.argwhere(env.field)]
        foods.append(places + [(0, 0, 0)] * (env.max_num_food - len(places)))
        over, before = False, len(actions)
        while not over:
            actions.append(chosen(env, rng))
            obs, reward, over, _, _ = env.step(actions[-1])
            seen.append(obs)
            rewards.append(reward)
            ended.append(over)
        lengths.append(len(actions) - before)
    starts = (np.array(lengths, np.int16), np.array(players, np.int8), np.array(foods, np.int8))
    steps = (np.array(actions, np.int8), np.array(rewards, np.float64), np.array(ended, bool))
    flat = np.array(seen).reshape(len(seen), len(env.players), -1)
    assert (flat == flat.astype(np.int8)).all()
    return Recorded(key, words, *starts, *steps, flat.astype(np.int8))


def main() -> None:
    cases = [(key, {}) for key in IDS] + WORDS
    arrays = {"cases": np.array(json.dumps(cases))}
    for k, (key, words) in enumerate(cases):
        one = record(key, words, seed=k)
        arrays |= {f"{k}.{name}": getattr(one, name) for name in Recorded._fields[2:]}
        print(f"{key} {words or ''}: {one.lengths.sum()} steps, {(one.rewards > 0).sum()} rewards")
    np.savez_compressed(FILE, **arrays)
    print(f"{FILE}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
