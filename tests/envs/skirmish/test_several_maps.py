"""`map_name: [...]`: episodes are those of one map alone, in the largest one's room, in turn."""

import numpy as np
import pytest

from envs.skirmish.entities import TYPES
from envs.skirmish.environment import SkirmishBatch, SkirmishEnv
from envs.skirmish.several import ALLY_STATE, ENEMY_STATE
from envs.skirmish.unit_types import UNIT_TYPES
from replays.plain import plain
from replays.reader import read_replay
from utils.errors import ConfigError

MAPS = ["3m", "10gen_terran", "MMM"]
SEEDS = [11, 12]
UNITS, BITS, ENEMIES, ACTIONS = 10, 16, 10, 26  # of MMM, the largest


def _several(maps=MAPS, **args):
    return SkirmishBatch(len(SEEDS), map_name=list(maps), observation="entities", seed=SEEDS, **args)


def _any_legal(avail, rng):
    return (rng.random(avail.shape) * (avail > 0)).argmax(-1)


def _alone(b, k, name):
    """Episode k of a battle with environment b's seed, on this map alone."""
    env = SkirmishBatch(1, map_name=name, observation="entities", seed=[SEEDS[b]])
    for _ in range(k + 1):
        env.reset()
    return env


def _to_own(actions, n, m):
    """The largest map's actions as those of a map with n agents and m enemies."""
    return np.where(actions >= 6 + ENEMIES, actions - ENEMIES + m, actions)


def test_episodes_are_those_of_one_map():
    env, rng, played, alone = _several(), np.random.default_rng(1), [], {}
    episodes = [-1, -1]
    which = np.ones(2, bool)
    for _ in range(500):
        env.reset(which)
        for b in np.flatnonzero(which):
            episodes[b] += 1
            played.append((int(b), episodes[b], env.info(b)["map"]))
            alone[b] = _alone(*played[-1])
        shown = env.observed()
        for b in (0, 1):
            one, (n, m) = alone[b].observed(), (alone[b].n_agents, alone[b].n_enemies)
            assert shown["present"][b].tolist() == [True] * n + [False] * (UNITS - n)
            assert np.array_equal(shown["obs/own"][b, :n], one["obs/own"][0])
            for path, count in (("obs/allies", n - 1), ("obs/enemies", m)):
                assert np.array_equal(shown[path][b, :n, :count], one[path][0])
                assert not shown[path][b, n:].any() and not shown[path][b, :, count:].any()
            legal = one["avail_actions"][0]
            assert np.array_equal(shown["avail_actions"][b, :n, : 6 + m], legal[:, : 6 + m])
            heals = legal[:, 6 + m : -1]
            assert np.array_equal(shown["avail_actions"][b, :n, 16 : 16 + heals.shape[1]], heals)
            assert shown["avail_actions"][b, :n].sum() == legal.sum()
            assert (shown["avail_actions"][b, n:] == [1] + [0] * (ACTIONS - 1)).all()
        actions = _any_legal(shown["avail_actions"], rng)
        reward, ended, cut = env.step({"actions": actions})
        for b in (0, 1):
            n, m = alone[b].n_agents, alone[b].n_enemies
            values, end, _ = alone[b].step({"actions": _to_own(actions[b : b + 1, :n], n, m)})
            assert (reward["reward"][b], ended[b]) == (values["reward"][0], end[0])
        assert not cut.any()
        which = ended.copy()
        if len(played) > 8:
            break
    # environment b of two plays entries b, b + 2, b + 4, ... of the list
    assert all(name == MAPS[(b + 2 * k) % 3] for b, k, name in played)
    assert {name for *_, name in played} == set(MAPS)


def test_state_has_all_units_and_their_last_actions():
    env, rng, healed = _several(["10gen_terran", "MMM"]), np.random.default_rng(2), set()
    env.reset()
    for _ in range(60):
        avail = env.observed()["avail_actions"]
        actions = (rng.random(avail.shape) * avail * (1 + 9 * (np.arange(ACTIONS) > 5))).argmax(-1)
        _, ended, _ = env.step({"actions": actions})
        for b in (0, 1):
            assert_state(env.observed()["state"][b], env.simulator.battles_of(b), b, actions[b])
            healed |= {env.info(b)["map"]} if (actions[b] >= 6 + ENEMIES).any() else set()
        env.reset(ended)
    assert healed == {"10gen_terran", "MMM"}


def assert_state(state, battles, b, actions):
    of_allies, of_enemies = 10 * len(ALLY_STATE), 10 * len(ENEMY_STATE)
    allies = state[:of_allies].reshape(10, -1)
    enemies = state[of_allies : of_allies + of_enemies].reshape(10, -1)
    n, units = battles.n_agents, battles.state.units[b]
    for rows, own, x in ((allies, units[:n], 2), (enemies, units[n:], 1)):
        alive = own["health"] > 0
        assert np.array_equal(rows[: len(own), 0] > 0, alive) and not rows[len(own) :].any()
        assert rows[: len(own), x][alive] == pytest.approx((own["x"][alive] - 16) / 32, abs=1e-6)
        shown = [TYPES[column] for column in rows[: len(own), -len(TYPES) :].argmax(1)[alive]]
        assert shown == [f"type_{UNIT_TYPES[kind].name}" for kind in own["kind"][alive]]
    last = state[of_allies + of_enemies :].reshape(10, ACTIONS)
    assert last[:n].argmax(1).tolist() == actions[:n].tolist()
    assert not last[n:].any() and last.sum() == n


def test_episodes_may_be_left_in_the_middle():
    env = _several(["3m", "8m"])
    for _ in range(3):
        env.reset()
        env.step({"actions": np.where(env.observed()["avail_actions"][..., 1] > 0, 1, 0)})
    assert [env.info(b)["map"] for b in (0, 1)] == ["3m", "8m"]
    env = _several(["3m", "8m", "8m"])
    for _ in range(6):
        env.reset()
        for _ in range(2):
            avail = env.observed()["avail_actions"]
            env.step({"actions": avail.shape[-1] - 1 - avail[..., ::-1].argmax(-1)})  # the last legal one


def test_a_saved_batch_continues_identically():
    first, second = _several(), _several()
    rng = np.random.default_rng(3)
    first.reset()
    for step in range(90):
        if step == 40:  # in the middle of episodes
            second.load_state_dict(first.state_dict())
        actions = _any_legal(first.observed()["avail_actions"], rng)
        envs = (first, second) if step >= 40 else (first,)
        ends = [env.step({"actions": actions}) for env in envs]
        for reward, ended, _ in ends:
            assert np.array_equal(ends[0][1], ended) and np.array_equal(ends[0][0]["reward"], reward["reward"])
        for env in envs:
            env.reset(ends[0][1].copy())
        assert all(np.array_equal(first.observed()[key], value) for key, value in envs[-1].observed().items())
    assert first.get_stats()["battles_game"] > 3
    with pytest.raises(ValueError, match=r"2 battles on 3m, 10gen_terran, MMM, not of 2 on 3m, 8m"):
        _several(["3m", "8m"]).load_state_dict(first.state_dict())


def test_one_battle_is_one_of_many(tmp_path):
    many = _several(place=[(0, 2, 0), (1, 2, 1)])
    one = SkirmishEnv(map_name=MAPS, observation="entities", seed=SEEDS[1], place=(1, 2, 1), replay_dir=str(tmp_path))
    many.reset(), one.reset()
    rng, played = np.random.default_rng(4), set()
    for _ in range(120):
        shown, alone = many.observed(), one.observe()
        assert all(np.array_equal(alone[path], shown[path][1]) for path in shown)
        actions = _any_legal(shown["avail_actions"], rng)
        reward, ends, cuts = many.step({"actions": actions})
        outcomes, *rest, info = one.step({"actions": actions[1]})
        assert (reward["reward"][1], ends[1], cuts[1], many.info(1)) == (outcomes["reward"], *rest, info)
        played.add(info["map"])
        many.reset(ends)
        if ends[1]:
            assert info[f"{info['map']}/battle_won"] is False and f"{info['map']}/battle_won" in info["only_of"]
            one.reset()
    assert played == set(MAPS)
    replay = read_replay(one.save_replay())
    assert replay.header["map"] == one.batch.simulator.map_of(0) and replay.steps[-1]["snapshot"] == plain(
        one.snapshot()
    )


@pytest.mark.parametrize("beyond", ["enemies", "allies"])
def test_units_that_a_map_lacks_are_no_targets(beyond):
    env = _several(["10gen_terran", "MMM"])
    while True:
        env.reset()
        avail = env.observed()["avail_actions"]
        if env.info(0)["map"] == "10gen_terran" and avail[0, :, 16:].any():
            break
    i, k = np.argwhere(avail[0, :, 16:])[0]
    actions = np.where(avail[..., 1] > 0, 1, 0)
    # 5 against 5: attack e5 and on, or heal row 4 and on
    actions[0, i] = 11 + k if beyond == "enemies" else 16 + 4 + k
    with pytest.raises(ValueError, match=rf"Agent {i} of battle 0 cannot take action"):
        env.step({"actions": actions})


@pytest.mark.parametrize(
    ("env_args", "message"),
    [
        ({"map_name": []}, r"map_name has 0 maps; a list has 1 to 100"),
        ({"map_name": ["3m"] * 101}, r"map_name has 101 maps"),
        ({"map_name": ["3m", "8n"]}, r"map_name is '8n'. Did you mean '8m'"),
        ({"map_name": ["3m", 8]}, r"map_name is 8; it must be a name"),
        (
            {"map_name": ["3m", "8m"], "observation": "flat"},
            r"see units. Set env_args.observation=entities",
        ),
        ({"map_name": ["3m", "8m"], "capability_config": {"n_units": 5}}, r"capability_config is for SMACv2's maps"),
    ],
)
def test_refusals_of_lists(env_args, message):
    with pytest.raises(ConfigError, match=message):
        SkirmishEnv.check_args(**{"observation": "entities", **env_args})
