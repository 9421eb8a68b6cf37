"""Records episodes of the package mpe2, for tests/envs/particles: `python tests/support/particle_episodes.py`.

Each case is played from the package's own first state; `read` gives it back.
"""

import importlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

PATH = Path(__file__).with_suffix(".npz")
STEPS = 25
LATEST = {"simple_speaker_listener": 4}  # versions; of others 3
GAMES: list[tuple[str, dict[str, Any]]] = [
    ("simple", {}),
    ("simple_spread", {}),
    ("simple_spread", {"N": 2, "local_ratio": 0.2}),
    ("simple_spread", {"N": 1, "terminate_on_success": True}),
    ("simple_spread", {"N": 5, "curriculum": True}),
    ("simple_adversary", {}),
    ("simple_adversary", {"N": 4}),
    ("simple_tag", {"num_good": 2, "num_adversaries": 2, "num_obstacles": 1}),
    ("simple_tag", {}),
    ("simple_tag", {"num_obstacles": 0, "curriculum": True, "terminate_on_success": True}),
    ("simple_tag", {"num_adversaries": 5}),
    ("simple_speaker_listener", {}),
    ("simple_crypto", {}),
    ("simple_push", {}),
    ("simple_reference", {}),
    ("simple_reference", {"local_ratio": 0.9}),
    ("simple_world_comm", {}),
    ("simple_world_comm", {"num_good": 3, "num_adversaries": 2, "num_obstacles": 2, "num_food": 1, "num_forests": 1}),
    ("simple_spread", {"N": 4, "num_agent_neighbors": 2, "num_landmark_neighbors": 1}),
    ("simple_adversary", {"N": 3, "num_agent_neighbors": 1, "num_landmark_neighbors": 4}),
    ("simple_tag", {"num_good": 2, "num_adversaries": 2, "num_agent_neighbors": 5, "num_landmark_neighbors": 3}),
]
# at random; to the last agent, and that one to the first landmark; each in one direction, out of the world
WAYS = ("random", "together", "away")


def cases() -> list[tuple[str, dict[str, Any], str, bool, int]]:
    """Of each: scenario, words, way, whether actions are continuous, and seed."""
    discrete = [
        (name, words, WAYS[(2 * k + i % 2) % 3], False, 10 * i + k)
        for i, (name, words) in enumerate(GAMES)
        for k in range(2)
    ]
    plain = [(name, words) for name, words in GAMES if not words]
    crowded = ("simple_tag", {"num_good": 2}, "together", False, 8)
    return [*discrete, crowded, *((name, words, "random", True, 1000 + i) for i, (name, words) in enumerate(plain))]


def record(scenario: str, words: dict[str, Any], way: str, continuous: bool, seed: int) -> dict[str, np.ndarray]:
    module = importlib.import_module(f"mpe2.{scenario}_v{LATEST.get(scenario, 3)}")
    env = module.parallel_env(continuous_actions=continuous, max_cycles=STEPS, **words)
    rng, seen = np.random.default_rng(seed), env.reset(seed=seed)[0]
    names, world = list(env.possible_agents), env.unwrapped.world
    positions = np.array([one.state.p_pos for one in world.entities])
    goals = [*goals_of(scenario, world)]
    heading = rng.integers(1, 5, len(names))
    obs, actions, rewards, ends = [_padded(names, seen)], [], [], []
    while env.agents:
        chosen = {name: env.action_space(name) for name in names}
        if continuous:
            chosen = {name: rng.random(space.shape, np.float32) for name, space in chosen.items()}
        else:
            chosen = {name: int(rng.integers(space.n)) for name, space in chosen.items()}
            for i, one in enumerate(world.agents):
                if one.movable and way != "random":
                    move = int(heading[i]) if way == "away" else _to_last(world, one)
                    chosen[one.name] += move - chosen[one.name] % 5
        seen, reward, ended, cut, _ = env.step(chosen)
        obs.append(_padded(names, seen))
        actions.append(_padded(names, chosen) if continuous else [chosen[name] for name in names])
        rewards.append([reward[name] for name in names])
        ends.append([any(ended.values()), any(cut.values())])
    return {
        "positions": positions,
        "goals": np.array(goals),
        "obs": np.array(obs, np.float32),
        "actions": np.array(actions),
        "rewards": np.array(rewards),
        "ends": np.array(ends),
    }


def _to_last(world: Any, agent: Any) -> int:
    last = world.agents[-1]
    x, y = (world.landmarks[0] if world.landmarks and agent is last else last).state.p_pos - agent.state.p_pos
    return (2 if x > 0 else 1) if abs(x) > abs(y) else (4 if y > 0 else 3)


def goals_of(scenario: str, world: Any) -> tuple[int, int]:
    """What an episode drew besides places: numbers of landmarks."""

    def number(landmark: Any) -> int:
        return next(j for j, one in enumerate(world.landmarks) if one is landmark)

    agents = world.agents
    if scenario in ("simple_adversary", "simple_push"):
        return number(agents[0].goal_a), 0
    if scenario == "simple_speaker_listener":
        return number(agents[0].goal_b), 0
    if scenario == "simple_crypto":
        return number(agents[0].goal_a), int(np.argmax(agents[2].key))
    if scenario == "simple_reference":
        return number(agents[0].goal_b), number(agents[1].goal_b)
    return 0, 0


def _padded(names: list[str], values: dict[str, np.ndarray]) -> np.ndarray:
    rows = np.zeros((len(names), max(value.size for value in values.values())), np.float32)
    for row, name in zip(rows, names, strict=True):
        row[: values[name].size] = values[name]
    return rows


def read() -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Of each case: what it is, and its arrays."""
    with np.load(PATH) as file:
        told = json.loads(str(file["cases"]))
        return [(case, {name: file[f"{i}.{name}"] for name in case["arrays"]}) for i, case in enumerate(told)]


def main() -> None:
    warnings.simplefilter("ignore")
    told, arrays = [], {}
    for i, (scenario, words, way, continuous, seed) in enumerate(cases()):
        recorded = record(scenario, words, way, continuous, seed)
        told.append({"scenario": scenario, "words": words, "way": way, "continuous": continuous, "arrays": [*recorded]})
        arrays |= {f"{i}.{name}": array for name, array in recorded.items()}
    np.savez_compressed(PATH, cases=np.array(json.dumps(told)), **arrays)
    print(f"{len(told)} episodes, {PATH.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
