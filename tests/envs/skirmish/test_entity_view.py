"""`observation: entities`: the units themselves say what each agent must see of them."""

import numpy as np
import pytest

from envs.skirmish.entities import ALLY, ENEMY
from envs.skirmish.environment import SkirmishBatch, SkirmishEnv
from envs.skirmish.unit_types import UNIT_TYPES
from utils.errors import ConfigError

SIGHT = 9


def _played(env, steps, seed=0):
    """Random legal actions; yields what is shown after each step."""
    rng = np.random.default_rng(seed)
    env.reset()
    for _ in range(steps):
        shown = env.observed()
        yield {path: array.copy() for path, array in shown.items()}
        legal = shown["avail_actions"] > 0
        env.step({"actions": (rng.random(legal.shape) * legal).argmax(-1)})


def _expected(me, unit, extra):
    """The features of a unit by name, apart from its type's; `extra` first."""
    kind = UNIT_TYPES[unit["kind"]]
    place = (unit["x"] - me["x"]) / SIGHT, (unit["y"] - me["y"]) / SIGHT
    shield = unit["shield"] / kind.shield if kind.shield else 0.0
    return {**extra, "distance": np.hypot(*place), "relative_x": place[0], "relative_y": place[1]} | {
        "health": unit["health"] / kind.health,
        "shield": shield,
        f"type_{kind.name}": 1.0,
    }


def _row(row, names):
    return {name: value for name, value in zip(names, row, strict=True) if value}


# SMACv2's enemies are hidden by a quirk until all have been seen
@pytest.mark.parametrize("map_name", ["5m_vs_6m", "2s3z", "3s_vs_5z", "MMM", "10gen_terran"])
def test_units_as_they_are(map_name):
    quirks = {"fix_quirks": True} if map_name == "10gen_terran" else {}
    env = SkirmishBatch(batch_size=3, map_name=map_name, observation="entities", seed=5, **quirks)
    n, own = env.n_agents, env.fields()["obs/own"].about["features"]
    seen = {"ally": 0, "enemy": 0, "hidden": 0}
    for shown in _played(env, 14):
        for b in range(3):
            units = env.simulator.state.units[b]
            for i in range(n):
                me = units[i]
                others = [j for j in range(n) if j != i]
                rows = [(shown["obs/allies"][b, i, k], units[j], ALLY, {}) for k, j in enumerate(others)]
                for e in range(env.n_enemies):
                    shootable = {"shootable": float(shown["avail_actions"][b, i, 6 + e])}
                    rows.append((shown["obs/enemies"][b, i, e], units[n + e], ENEMY, shootable))
                for row, unit, names, extra in rows:
                    near = np.hypot(unit["x"] - me["x"], unit["y"] - me["y"]) < SIGHT
                    if not (near and unit["health"] > 0 and me["health"] > 0):
                        assert not row.any()
                        seen["hidden"] += 1
                        continue
                    wanted = _expected(me, unit, {"visible": 1.0, **extra})
                    assert _row(row, names) == pytest.approx({k: v for k, v in wanted.items() if v}, abs=1e-5)
                    seen["ally" if names is ALLY else "enemy"] += 1
                myself = _row(shown["obs/own"][b, i], own)
                assert {name for name in myself if name.startswith("type_")} == (
                    {f"type_{UNIT_TYPES[me['kind']].name}"} if me["health"] > 0 else set()
                )
                assert myself.get("health", 0) == pytest.approx(me["health"] / UNIT_TYPES[me["kind"]].health, abs=1e-5)
    assert all(seen.values())


@pytest.mark.parametrize("continuing", [False, True])
def test_time_is_up(continuing):
    env = SkirmishBatch(batch_size=1, map_name="3m", observation="entities", seed=1, continuing_episode=continuing)
    env.reset()
    env.simulator.state.battle["step"] = env.episode_limit - 1
    _, terminated, truncated = env.step({"actions": np.ones((1, 3), int)})
    assert (terminated[0], truncated[0]) == (not continuing, continuing)


@pytest.mark.parametrize(
    ("env_args", "message"),
    [
        ({"map_name": "10gen_zerg", "conic_fov": True}, r"has no conic_fov"),
        ({"map_name": "10gen_zerg", "obs_starcraft": False}, r"needs obs_starcraft=True"),
        ({"obs_last_action": True}, r"has no obs_last_action"),
        ({"obs_instead_of_state": True}, r"has no obs_instead_of_state"),
        ({"observation": "entity"}, r"env_args.observation is 'entity'. Did you mean 'entities'"),
    ],
)
def test_refusals(env_args, message):
    with pytest.raises(ConfigError, match=message):
        SkirmishEnv.check_args(**{"map_name": "3m", "observation": "entities", **env_args})


@pytest.mark.parametrize("map_name", ["MMM", "10gen_terran"])
def test_medivacs_heal_rows_of_allies(map_name):
    """Legal: friends alive within 6 that are no medivacs; whoever is healed is the unit of that row."""
    env = SkirmishBatch(batch_size=4, map_name=map_name, observation="entities", seed=8)
    n, m, healed = env.n_agents, env.n_enemies, 0
    env.reset()
    names = [of_agent[6 + m : 6 + m + 2] for of_agent in env.action_names()[:2]]
    assert names == [["heal 1", "heal 2"], ["heal 0", "heal 2"]]
    rng = np.random.default_rng(0)
    for _ in range(25):
        shown, units = env.observed(), env.simulator.state.units.copy()
        legal = shown["avail_actions"]
        assert legal.shape[-1] == 6 + m + n and not legal[..., -1].any()
        for b, i in np.ndindex(4, n):
            me, medic = units[b, i], UNIT_TYPES[units[b, i]["kind"]].name == "medivac"
            for k, j in enumerate(j for j in range(n) if j != i):
                unit = units[b, j]
                near = np.hypot(unit["x"] - me["x"], unit["y"] - me["y"]) <= 6
                able = medic and me["health"] > 0 and near and unit["health"] > 0
                assert legal[b, i, 6 + m + k] == (able and UNIT_TYPES[unit["kind"]].name != "medivac")
            if medic:
                assert not legal[b, i, 6 : 6 + m].any() and not shown["obs/enemies"][b, i, :, 1].any()
        actions = (legal * (rng.random(legal.shape) + 5 * (np.arange(legal.shape[-1]) > 5))).argmax(-1)
        _, ended, _ = env.step({"actions": actions})
        for b, i in np.argwhere(actions >= 6 + m):
            others = [j for j in range(n) if j != i]
            unit = env.simulator.state.units[b, i]
            assert unit["health"] == 0 or unit["last_action"] == 6 + others[actions[b, i] - 6 - m]
            healed += 1
        env.reset(ended)
    assert healed > 10
    with pytest.raises(ValueError, match=r"cannot take action -1"):
        env.step({"actions": np.full((4, n), 6 + m)})
