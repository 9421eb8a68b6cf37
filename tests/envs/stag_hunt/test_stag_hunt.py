"""The stag hunt: equal to recorded play of PyMARL2's, its rules by hand, and PyMARL2's mistakes without as_pymarl2."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.testing import assert_array_equal, assert_equal

from cli.compose import compose_config
from envs.stag_hunt.environment import StagHunt, StagHuntBatch
from played_copies import played
from small_training import train
from utils.errors import ConfigError
from vector_envs.batched import BatchedCopies

HERE = Path(__file__).parent
PLAYED = np.load(HERE / "episodes.npz")
NAMES = sorted({name.rpartition("/")[0] for name in PLAYED.files})
FAMILY = os.environ.get("MUSTER_FAMILY")
RECORDER = Path(__file__).parents[2] / "support" / "record_stag_hunt.py"
RIGHT, DOWN, LEFT, UP, STAY, CATCH = range(6)
SEEDS = [3, 1, 4, 1, 5]


def compare(rows, name):
    """Observations, states, legal actions, rewards and ends at every step, from the random numbers of the rows."""
    options = json.loads(str(rows[f"{name}/options"]))
    env = StagHuntBatch(1, seed=[0], **options)
    state, outputs = env.simulator.state, env.simulator.outputs
    state.copies["given"] = 1
    columns = ("begins", "chance", "actions", "rewards", "ended", "limit", "obs", "state", "avail")
    begins, chance, actions, rewards, ended, limit, *seen = (rows[f"{name}/{column}"] for column in columns)
    for row in range(len(begins)):
        state.chance[0] = chance[row] / 2**16
        if begins[row]:
            env.reset()
        else:
            env.step({"actions": actions[row][None]})
            assert outputs.rewards[0, 0] == pytest.approx(rewards[row], abs=1e-5), f"row {row}"
            assert (outputs.terminated[0] or outputs.truncated[0]) == ended[row], row
            assert not outputs.truncated[0] or limit[row], row
        for ours, theirs in zip((outputs.obs, outputs.state, outputs.avail_actions), seen, strict=True):
            assert_array_equal(ours[0], theirs[row], err_msg=f"row {row}")


@pytest.mark.parametrize("name", NAMES)
def test_equal_to_recorded_play_of_pymarl2(name):
    compare(PLAYED, name)


@pytest.mark.slow
@pytest.mark.skipif(not FAMILY, reason="set MUSTER_FAMILY to a folder with a checkout of PyMARL2, named pymarl2")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equal_to_pymarl2_beside_it(tmp_path, seed):
    target = tmp_path / "episodes.npz"
    command = [sys.executable, str(RECORDER), str(Path(FAMILY) / "pymarl2"), str(target), str(seed)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    rows = np.load(target)
    for name in NAMES:
        compare(rows, name)


@pytest.mark.skipif(not FAMILY, reason="set MUSTER_FAMILY to a folder with a checkout of PyMARL2, named pymarl2")
def test_pymarl2s_own_file_is_a_config():
    file = Path(FAMILY) / "pymarl2" / "src" / "config" / "envs" / "stag_hunt.yaml"
    env_args, ours = (
        yaml.safe_load(file.read_text())["env_args"],
        compose_config("qmix", "stag_hunt").config["env_args"],
    )
    assert {name: ours[name] for name in env_args} == env_args
    composed = compose_config("qmix", str(file)).config
    StagHunt(**{name: value for name, value in composed["env_args"].items() if name != "seed"})


def hunt(agents, prey, **options):
    """A hunt of one copy whose agents and prey are put on cells. Prey does not move."""
    rest = {"p_stags_rest": 1.0, "p_hare_rest": 1.0, "n_agents": len(agents)}
    env = StagHuntBatch(1, seed=[0], **{**rest, "n_stags": len(prey), "n_hare": 0, **options})
    env.reset()
    put(env, agents, prey)
    return env


def put(env, agents, prey):
    state = env.simulator.state
    state.grid[:] = 0
    for places, all_places, first in ((agents, state.agents, True), (prey, state.prey, False)):
        for i, (x, y) in enumerate(places):
            all_places[0, i] = x, y
            state.grid[0, x, y, 0 if first else 1 if i < env.options.n_stags else 2] = 1


def do(env, *actions):
    outcomes, terminated, truncated = env.step({"actions": np.array([actions])})
    return outcomes["reward"][0], bool(terminated[0]), bool(truncated[0])


def test_two_agents_catch_a_stag_and_leave():
    """Rewards by hand: 10 for the stag, -2 for a catch by one, -0.1 a step."""
    env = hunt([(4, 3), (4, 5), (0, 0)], [(4, 4), (8, 8)], miscapture_punishment=-2, reward_time=-0.1)
    assert do(env, CATCH, STAY, STAY) == (pytest.approx(-2.1), False, False)
    assert do(env, CATCH, CATCH, STAY) == (pytest.approx(9.9), False, False)
    state, outputs = env.simulator.state, env.simulator.outputs
    assert (state.free[0].tolist(), state.alive[0].tolist()) == ([0, 0, 1], [0, 1])
    assert not outputs.obs[0, :2].any()
    assert outputs.avail_actions[0].tolist() == [[0, 0, 0, 0, 1, 0]] * 2 + [[1, 1, 0, 0, 1, 0]]
    assert env.info(0) == {"stags_caught": 1, "hares_caught": 0, "miscaptures": 1}
    board = outputs.state[0].reshape(10, 10, 3)
    assert_equal(np.argwhere(board).tolist(), [[0, 0, 0], [8, 8, 1]])


def test_all_agents_frozen_or_all_prey_caught_ends_an_episode():
    assert do(hunt([(4, 3), (4, 5)], [(4, 4), (8, 8)]), CATCH, CATCH) == (10, True, False)
    assert do(hunt([(4, 3), (4, 5), (0, 0)], [(4, 4)]), CATCH, CATCH, STAY) == (10, True, False)
    assert do(hunt([(4, 3), (9, 9)], [(4, 4)], n_stags=0, n_hare=1), CATCH, STAY) == (1, True, False)
    assert do(hunt([(4, 3), (4, 5)], [(4, 4)], episode_limit=1), CATCH, CATCH) == (10, True, False)
    assert do(hunt([(4, 3), (4, 5)], [(4, 4)], episode_limit=1), STAY, CATCH) == (0, False, True)
    assert do(hunt([(4, 3), (4, 5)], [(4, 4)], episode_limit=1, truncate_episodes=False), STAY, STAY)[1:] == (
        True,
        False,
    )


def test_an_agent_on_the_cell_of_a_stag_leaves_with_those_that_catch_it():
    """Two others are needed: it does not count as one of them."""
    env = hunt([(4, 3), (4, 5), (4, 4), (0, 0)], [(4, 4), (8, 8)], agent_move_block=[])
    assert do(env, CATCH, CATCH, CATCH, STAY) == (10, False, False)
    assert env.simulator.state.free[0].tolist() == [0, 0, 0, 1]


def test_an_agent_sees_the_cells_around():
    env = hunt([(0, 0), (1, 2), (5, 5)], [(2, 1)], agent_obs=[1, 2], observe_walls=True)
    do(env, STAY, STAY, STAY)
    seen = env.observed()["obs"][0, 0].reshape(3, 5, 3)
    assert seen[..., 0].tolist() == [[-1] * 5, [-1, -1, 1, 0, 0], [-1, -1, 0, 0, 1]]
    assert not seen[..., 1:].any()
    stags = env.observed()["obs"][0, 1].reshape(3, 5, 3)[..., 1]
    assert stags.tolist() == [[0] * 5, [0] * 5, [0, 1, 0, 0, 0]]


def test_stags_without_a_way_are_caught_where_no_action_does_it():
    options = {"capture_action": False, "p_stags_rest": 0.0}
    env = hunt([(0, 1), (2, 0)], [(0, 0)], **options)
    assert do(env, STAY, UP) == (10, True, False)
    assert env.simulator.state.alive[0, 0] == 0


def test_cones_show_what_is_ahead():
    """A number in each visible cell of the cone, with the diagonals: the agent number of who stands there."""
    around = [(x, y) for x in range(3, 6) for y in range(3, 6) if (x, y) != (4, 4)]
    options = {"directed_observations": True, "observe_ids": True, "agent_obs": [1, 1], "directed_cone_narrow": False}
    env = hunt([(4, 4), *around], [(9, 9)], **options)
    expected = {
        RIGHT: [[-1, -1, 4], [-1, 1, 6], [-1, -1, 9]],
        DOWN: [[-1, -1, -1], [-1, 1, -1], [7, 8, 9]],
        LEFT: [[2, -1, -1], [5, 1, -1], [7, -1, -1]],
        UP: [[2, 3, 4], [-1, 1, -1], [-1, -1, -1]],
    }
    for way, numbers in expected.items():
        do(env, 6 + way, *[STAY] * 8)
        assert env.observed()["obs"][0, 0].reshape(3, 3, 3)[..., 0].tolist() == numbers, way


@pytest.mark.parametrize("as_pymarl2", [True, False])
def test_mistakes_of_pymarl2(as_pymarl2):
    """Edges joined for walking only, collisions of those who stay, shared cells, frozen agents unseen, ghosts."""
    options = {"as_pymarl2": as_pymarl2, "toroidal": True}
    env = hunt([(0, 0), (0, 8)], [(0, 9)], **options, reward_collision=-1)
    assert do(env, STAY, STAY)[0] == (-2 if as_pymarl2 else 0)
    stags = env.observed()["obs"][0, 0].reshape(5, 5, 3)[..., 1]
    assert np.argwhere(stags).tolist() == ([] if as_pymarl2 else [[2, 1]])
    assert env.observed()["avail_actions"][0, 0, CATCH] == 1, "PyMARL2 offers what does nothing"
    assert do(env, CATCH, CATCH)[1] == (not as_pymarl2)
    env = hunt([(0, 0), (0, 1)], [(9, 9)], as_pymarl2=as_pymarl2, agent_move_block=[], remove_frozen=False)
    env.simulator.state.free[0, 1] = 0
    do(env, RIGHT, STAY)
    do(env, LEFT, STAY)
    board = env.observed()["state"][0].reshape(10, 10, 3)[..., 0]
    assert np.argwhere(board).tolist() == ([[0, 0]] if as_pymarl2 else [[0, 0], [0, 1]])
    env = hunt([(0, 0), (0, 2), (1, 1)], [(0, 1), (9, 9)], as_pymarl2=as_pymarl2, remove_frozen=False)
    do(env, CATCH, CATCH, STAY)
    agents = env.observed()["obs"][0, 2].reshape(5, 5, 3)[..., 0]
    assert np.argwhere(agents).tolist() == ([[2, 2]] if as_pymarl2 else [[1, 1], [1, 3], [2, 2]])
    env = StagHuntBatch(2000, seed=1, random_ghosts=True, random_ghosts_prob=0.8, as_pymarl2=as_pymarl2)
    env.reset()
    assert env.simulator.state.ghosts[:, 0].mean() == pytest.approx(0.2 if as_pymarl2 else 0.8, abs=0.03)


def test_worlds_smaller_than_the_sight_repeat_without_edges():
    env = hunt([(0, 0)], [(1, 2)], as_pymarl2=False, toroidal=True, world_shape=[3, 3], agent_obs=[3, 3])
    do(env, STAY)
    stags = env.observed()["obs"][0, 0].reshape(7, 7, 3)[..., 1]
    assert np.argwhere(stags).tolist() == [[x, y] for x in (1, 4) for y in (2, 5)]


def test_draws_have_the_frequencies_that_are_asked_for():
    env = StagHuntBatch(4000, seed=7, n_agents=1, n_stags=1, n_hare=1, p_stags_rest=0.25, mountain_slope=0.4)
    env.reset()
    state = env.simulator.state
    assert np.allclose([np.bincount(state.prey[:, 0, k], minlength=10) / 4000 for k in (0, 1)], 0.1, atol=0.02)
    before = state.prey.copy()
    env.step({"actions": np.full((4000, 1), STAY)})
    inner = ((before > 1) & (before < 8)).all((1, 2)) & (abs(before - state.agents).sum(-1) > 2).all(1)
    inner &= abs(before[:, 0] - before[:, 1]).sum(-1) > 2
    moves = (state.prey - before)[inner]
    for p, (still, slope) in enumerate(((0.25, [1, 0]), (0.0, [-1, 0]))):
        expected = still + (1 - still) / 4 * 0.4
        assert (moves[:, p] == 0).all(-1).mean() == pytest.approx(expected, abs=0.03)
        assert (moves[:, p] == slope).all(-1).mean() == pytest.approx((1 - still) / 4 * 0.6, abs=0.03)
    env = StagHuntBatch(200, seed=7, mountain_spawn=True, mountain_agent_row=4, n_stags=12, n_hare=2)
    env.reset()
    state = env.simulator.state
    assert (state.agents[..., 0] == 4).all() and (state.prey[:, 12:, 0] == 9).all()
    assert ((state.prey[:, :12, 0] == 0).sum(1) == 10).all(), "the others are anywhere"


OPTIONS = {"world_shape": [5, 5], "n_agents": 3, "n_stags": 2, "n_hare": 1, "episode_limit": 12, "random_ghosts": True}


def many(seeds=SEEDS, **options):
    env = BatchedCopies(StagHuntBatch(len(seeds), seed=seeds, **{**OPTIONS, **options}), len(seeds))
    env.reset()
    return env


def test_one_copy_is_one_of_many():
    env, ones = many(), [StagHunt(seed=seed, **OPTIONS) for seed in SEEDS]
    for one in ones:
        one.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        shown = env.observed()
        for b, one in enumerate(ones):
            assert_equal(one.observe(), {path: array[b] for path, array in shown.items()})
        legal = shown["avail_actions"]
        actions = (rng.random(legal.shape) * legal).argmax(-1)
        outcome = env.step({"actions": actions})
        for b, one in enumerate(ones):
            values, *ends, info = one.step({"actions": actions[b]})
            assert_equal(values["reward"], outcome.values["reward"][b])
            assert (ends, info) == ([outcome.terminated[b], outcome.truncated[b]], env.info(b))
            if any(ends):
                one.reset()
        env.reset(outcome.terminated | outcome.truncated)


def test_seeds_threads_and_saved_states():
    assert_equal(*[played(env, np.random.default_rng(1)) for env in (many(), many(threads=3))])
    env = many()
    first = {path: array.copy() for path, array in env.observed().items()}
    assert_equal(first["obs"][1], first["obs"][3])
    played(env, np.random.default_rng(2), 20)
    saved = env.state_dict()
    expected = played(env, np.random.default_rng(4))
    other = many(seeds=[7, 8, 9, 10, 11])
    other.load_state_dict(saved)
    assert_equal(played(other, np.random.default_rng(4)), expected)
    env.env.seed(SEEDS)
    env.reset()
    assert_equal(env.observed(), first)


def test_a_drawing_has_who_is_left():
    env = hunt([(4, 3), (4, 5), (0, 0)], [(4, 4), (8, 8)], n_stags=1, n_hare=1)
    do(env, CATCH, CATCH, STAY)
    units = env.snapshot()["units"]
    assert [(unit["id"], unit["x"], unit["y"]) for unit in units] == [("hare 1", 8, -8), (2, 0, 0)]
    assert env.scene()["bounds"] == [-0.5, -9.5, 9.5, 0.5]
    assert env.action_names()[0] == ["right", "down", "left", "up", "stay", "catch"]
    x0, y0, x1, y1 = many().scene()["bounds"]
    for *_, snapshot in played(many(), np.random.default_rng(5)):
        assert all(x0 <= unit["x"] <= x1 and y0 <= unit["y"] <= y1 for unit in snapshot["units"])


def test_what_observations_are_made_of():
    env = StagHuntBatch(1, seed=[0], random_ghosts=True, observe_state=True, world_shape=[5, 6])
    (cells,) = env.meaning().groups
    assert cells.features == ("agent", "stag", "hare", "ghosts", "self") and cells.rows == 30
    assert env.fields()["obs"].shape == (150,) and env.fields()["state"].shape == (120,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_stag": 3}, "Did you mean 'n_stags'"),
        ({"n_agents": 0}, "env_args.n_agents is 0"),
        ({"n_stags": 0}, "nothing to catch"),
        ({"world_shape": [4, 3]}, "it must have 16 cells"),
        ({"world_shape": 10}, "env_args.world_shape is 10; it must be a list of 2 numbers"),
        ({"agent_move_block": [3]}, "env_args.agent_move_block is 3"),
        ({"capture_action": "yes"}, "env_args.capture_action is 'yes'"),
        ({"p_stags_rest": 1.5}, "env_args.p_stags_rest is 1.5"),
        ({"mountain_agent_row": 10}, "there are 10 rows"),
        ({"state_as_graph": True}, "env_args.state_as_graph must be False"),
        ({"directed_observations": True, "agent_obs": [1, 2]}, "both numbers must be equal"),
        ({"directed_observations": True, "agent_obs": [0, 0]}, "agents would see nothing"),
    ],
)
def test_bad_arguments_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        StagHunt.check_args(**options)


def test_pymarl2s_qmix_for_it_trains(tmp_path, monkeypatch):
    assert len(train(tmp_path, monkeypatch, "pymarl2_qmix_predator_prey", "stag_hunt")) >= 3
