"""SMAC's methods, and what goes into and comes out of them."""

from dataclasses import fields

import numpy as np
import pytest

from envs.skirmish.environment import SkirmishBatch, SkirmishEnv
from envs.skirmish.options import Options
from replays.plain import plain
from replays.reader import read_replay
from utils.errors import ConfigError
from vector_envs.instances import env_parameters


def run_out_of_time(**args):
    """The last step of an episode without contact: the agents stop, the enemy does not move."""
    env = SkirmishEnv(map_name="2s_vs_1sc", seed=0, **args)
    env.reset()
    for _ in range(300):
        reward, ended, info = env.step([1, 1])
    return env, reward, ended, info


@pytest.mark.slow
def test_a_time_limit_looks_like_a_defeat_unless_episodes_continue():
    env, reward, ended, info = run_out_of_time()
    assert (reward, ended) == (0.0, True)
    assert info == {"battle_won": False, "dead_allies": 0, "dead_enemies": 0}
    stats = {"battles_won": 0, "battles_game": 1, "battles_draw": 1, "win_rate": 0.0, "timeouts": 1, "restarts": 0}
    assert env.get_stats() == stats
    assert run_out_of_time(continuing_episode=True)[3]["episode_limit"] is True


@pytest.mark.parametrize("continuing", [False, True])
def test_the_infos_of_many_battles_are_those_of_each(continuing):
    env = SkirmishBatch(5, map_name="3m", seed=1, continuing_episode=continuing)
    env.reset()
    outputs = env.simulator.outputs
    outputs.battle_won[:], outputs.truncated[:] = [1, 0, 0, 0, 1], [0, 1, 1, 0, 1]
    outputs.dead_allies[:], outputs.dead_enemies[:] = [0, 3, 2, 1, 0], [3, 1, 3, 0, 2]
    rows = np.array([1, 2, 4])
    assert repr(env.infos_at(rows)) == repr([env.info(b) for b in rows.tolist()])
    assert ("episode_limit" in env.infos_at(rows)[0]) == continuing


def finish(env, winner):
    """The step that ends a battle: the losing side has one unit left, at death's door, among the others."""
    env.reset()
    battles = env.batch.simulator
    units, n = battles.state.units[0], battles.n_agents
    losers = units[n:] if winner == "allies" else units[:n]
    losers["health"][1:] = 0
    losers["health"][0] = 0.5
    losers["shield"][0] = 0
    units["x"], units["y"] = 16 + np.arange(len(units)) * 0.7, 16
    from envs.skirmish.kernel.entry import write_views

    write_views(battles.state, np.ones(1, bool), battles.outputs, battles.game)
    target = env.get_avail_actions()
    return env.step([max(np.flatnonzero(row)) if winner == "allies" else min(np.flatnonzero(row)) for row in target])


def test_victory_pays_the_kill_and_the_bonus():
    """(0.5 damage + 10 for the kill + 200) / (365 / 20)."""
    env = SkirmishEnv(map_name="3m", seed=0)
    reward, ended, info = finish(env, "allies")
    assert reward == pytest.approx(210.5 / 18.25)
    assert ended
    assert info["battle_won"]
    assert info["dead_enemies"] == 3
    assert env.get_stats()["win_rate"] == 1.0


@pytest.mark.parametrize(
    ("args", "won", "lost"),
    [
        ({"reward_sparse": True}, 20 / 365, -20 / 365),
        ({"reward_sparse": True, "fix_quirks": True}, 1, -1),
        ({"reward_sparse": True, "reward_scale": False}, 1, -1),
        ({"reward_scale": False, "reward_defeat": -50}, 210.5, None),
        ({"reward_win": 0, "reward_death_value": 0, "reward_scale_rate": 1}, 0.5 / 135, None),
    ],
)
def test_rewards_of_the_last_step(args, won, lost):
    env = SkirmishEnv(map_name="3m", seed=0, **args)
    assert finish(env, "allies")[0] == pytest.approx(won)
    reward, ended, info = finish(env, "enemies")
    assert ended
    assert not info["battle_won"]
    if lost is not None:
        assert reward == pytest.approx(lost)


def test_negative_rewards():
    """Half of the 0.5 health and of the 10 of an own death, against nothing dealt."""
    args = {"reward_only_positive": False, "reward_scale": False}
    assert finish(SkirmishEnv(map_name="3m", seed=0, **args), "enemies")[0] == pytest.approx(-5.25)
    args["reward_defeat"] = -7
    assert finish(SkirmishEnv(map_name="3m", seed=0, **args), "enemies")[0] == pytest.approx(-12.25)


@pytest.mark.parametrize("action", [0, 6, 9, -1])
def test_illegal_actions_are_named(action):
    env = SkirmishEnv(map_name="3m", seed=0)
    env.reset()
    before = env.state_dict()
    with pytest.raises(
        ValueError, match=rf"Agent 1 of battle 0 cannot take action {action} in step 0; legal are \[1, 2"
    ):
        env.step([1, action, 1])
    assert all(np.array_equal(array, env.state_dict()[name]) for name, array in before.items())
    with pytest.raises(ValueError, match="shape"):
        env.step([1, 1])


def test_the_dead_can_only_pass():
    env = SkirmishEnv(map_name="3m", seed=0)
    finish(env, "enemies")
    assert env.get_avail_actions() == [[1] + [0] * 8] * 3
    assert not np.any(env.get_obs())
    assert not env.get_state()[:12].any()


def test_scripted_allies_win_more_than_random_ones():
    """With heuristic_ai the actions given are not carried out, but legal ones are still asked for."""
    env = SkirmishEnv(map_name="3s_vs_3z", seed=0, heuristic_ai=True)
    env.reset()
    total, ended = 0.0, False
    while not ended:
        reward, ended, info = env.step([0 if row[0] else 1 for row in env.get_avail_actions()])
        total += reward
    assert info["dead_enemies"] >= 1
    assert total > 7  # random play: 5.6


def test_a_replay_holds_every_moment(tmp_path):
    env = SkirmishEnv(map_name="3m", seed=4, replay_dir=str(tmp_path), replay_prefix="mine")
    rng, total, ended = np.random.default_rng(0), 0.0, False
    for _ in range(2):
        env.reset()
        total, steps, ended = 0.0, 0, False
        while not ended:
            actions = [rng.choice(np.flatnonzero(row)) for row in env.get_avail_actions()]
            reward, ended, info = env.step(actions)
            total, steps = total + reward, steps + 1
    state = env.state_dict()
    first, second = env.save_replay(), env.save_replay()
    assert first != second
    assert "mine" in first
    assert all(np.array_equal(array, env.state_dict()[name]) for name, array in state.items())
    replay = read_replay(first)
    assert [replay.header[key] for key in ("map", "seed", "episode")] == ["3m", 4, 1]
    assert replay.footer["return"] == pytest.approx(total)
    assert len(replay.steps) == steps + 1
    assert replay.footer["won"] == info["battle_won"]
    assert replay.footer["info"] == info
    assert [unit["team"] for unit in replay.steps[0]["snapshot"]["units"]] == [0] * 3 + [1] * 3
    assert replay.steps[-1]["snapshot"] == plain(env.snapshot())
    last = replay.steps[-1]["snapshot"]["units"]
    assert sum(unit["health"] == 0 for unit in last if unit["team"] == 0) == info["dead_allies"]
    assert replay.steps[-2]["actions"] == [int(action) for action in actions]
    for step in replay.steps[:-1]:
        for agent, action in enumerate(step["actions"]):
            assert step["avail_actions"][agent][action] == 1


def test_there_is_no_replay_before_the_first_episode():
    with pytest.raises(NotImplementedError, match="no episode has started"):
        SkirmishEnv(map_name="3m").save_replay()


@pytest.mark.parametrize("prefix", ["../mine", "/tmp/mine", "a/b", "a\\b", "..", ".hidden", "a\nb", "x" * 101])
def test_a_prefix_does_not_lead_out_of_the_folder(prefix):
    with pytest.raises(ConfigError, match=r"(?s)replay_prefix=.*: expected a plain file name"):
        SkirmishEnv(map_name="3m", replay_prefix=prefix)


def test_snapshots_name_who_shot_at_whom():
    env = SkirmishEnv(map_name="3m", seed=1)
    env.reset()
    ended, shots = False, 0
    while not ended:
        before = {unit["id"]: unit for unit in env.snapshot()["units"]}
        # whoever can attack does, all others walk east
        actions = [
            int(np.flatnonzero(row)[-1]) if any(row[6:]) else 4 if row[4] else int(row[0] == 0)
            for row in env.get_avail_actions()
        ]
        _, ended, _ = env.step(actions)
        after = env.snapshot()
        shooters = {link["from"]: link["to"] for link in after["links"]}
        shots += len(shooters)
        for shooter, target in shooters.items():
            assert before[shooter]["health"] > 0
            assert before[shooter]["team"] != before[target]["team"]
        for unit in after["units"]:
            if unit["health"] < before[unit["id"]]["health"] and unit["alive"]:
                # whoever shot it may have died since
                dead = any(not other["alive"] and before[other["id"]]["alive"] for other in after["units"])
                assert unit["id"] in shooters.values() or dead
    assert shots > 10


def test_names_of_actions():
    env = SkirmishEnv(map_name="MMM", seed=0)
    env.reset()
    names = env.action_names()
    assert names[0][:6] == ["no-op", "stop", "move north", "move south", "move east", "move west"]
    assert names[0][6:8] == ["attack e0", "attack e1"]
    assert names[9][6:8] == ["heal 0", "heal 1"], "the last of MMM is the medivac"
    assert {len(own) for own in names} == {env.n_actions}
    before = env.snapshot()["units"]
    env.step([2] * 10)
    assert env.snapshot()["units"][0]["y"] > before[0]["y"], "north is up"
    env.reset()
    env.step([4] * 10)
    assert env.snapshot()["units"][0]["x"] > before[0]["x"]
    looking = SkirmishEnv(map_name="10gen_terran", conic_fov=True, num_fov_actions=4, seed=0)
    looking.reset()
    assert looking.action_names()[0][6:10] == ["look 0°", "look 90°", "look 180°", "look 270°"]


def test_a_picture():
    env = SkirmishEnv(map_name="MMM", seed=0)
    env.reset()
    picture = env.render()
    left, bottom, right, top = env.scene()["bounds"]
    assert picture.shape == (16 * (top - bottom), 16 * (right - left), 3)
    assert picture.dtype == np.uint8
    unit = env.batch.simulator.state.units[0, 0]
    # beside the middle, where its number is
    red, _, blue = picture[int(16 * (top - unit.y)), int(16 * (unit.x - 0.6 * unit.radius - left))].astype(int)
    assert blue > red, "the first agent is where it stands, in its side's colour"
    env.step([1 if row[1] else 0 for row in env.get_avail_actions()])
    assert not np.array_equal(picture, env.render())


def test_every_argument_can_be_given():
    assert set(env_parameters(SkirmishEnv)) == {field.name for field in fields(Options)}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"map_name": "3mm"}, ["map_name", "3mm", "'3m'"]),
        ({"map": "3m"}, ["env_args.map", "map_name"]),
        ({"difficulty": "11"}, ["difficulty", "11"]),
        ({"step_mul": 0}, ["step_mul", "0"]),
        ({"move_amount": 0}, ["move_amount"]),
        ({"prob_obs_enemy": 2}, ["prob_obs_enemy"]),
        ({"capability_config": {"n_units": 3}}, ["SMACv2", "map_name=8m"]),
        ({"map_name": "10gen_zerg", "capability_config": {"n_unit": 5}}, ["n_unit", "n_units"]),
        ({"map_name": "10gen_zerg", "capability_config": {"n_units": 0}}, ["n_units", "0"]),
    ],
)
def test_arguments_that_make_no_sense(args, words):
    with pytest.raises(ConfigError) as error:
        SkirmishEnv(**args)
    assert all(word in str(error.value) for word in words), error.value
