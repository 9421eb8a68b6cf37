"""The warehouse as an environment: copies, threads, saved states, `gymma`, arguments, messages, drawing."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from envs.pettingzoo import gymma
from envs.pettingzoo.gymma import Gymma
from envs.rware.environment import Rware, RwareBatch
from envs.rware.ids import arguments
from envs.rware.options import IDS, Options, settings_of
from utils.errors import ConfigError

SEEDS = [3, 1, 4, 1, 5]
LAYOUT = ["g..x", "...x", ".xxx"]
# little ways, and many requests: random play delivers now and then
OPTIONS = {"layout": LAYOUT, "n_agents": 2, "request_queue_size": 4, "time_limit": 60, "reward": "each"}
FORMS = ({}, {"sensor_range": 2}, {"msg_bits": 2, "reward_type": "two_stage"}, {"max_inactivity_steps": 25})


def made(**options):
    env = RwareBatch(len(SEEDS), **{**OPTIONS, "seed": SEEDS, **options})
    env.reset()
    return env


def random_actions(env, rng):
    n = env.fields()["actions"].n
    return rng.integers(0, n, (len(SEEDS), env.simulator.n_agents))


def played(env, seed, steps=200, restart=True):
    """All that is seen of copies, for each step."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        shown = {path: array.copy() for path, array in env.observed().items()}
        values, terminated, truncated = env.step({"actions": random_actions(env, rng)})
        seen.append((shown, values["reward"].copy(), terminated.copy(), truncated.copy(), env.snapshot()))
        if restart:
            env.reset(terminated | truncated)
    return seen


@pytest.mark.parametrize("form", FORMS)
def test_neither_threads_nor_the_place_of_the_results_matter(form):
    alone, threads = made(**form), made(**form, threads=3)
    simulator = threads.simulator
    simulator.reset(outputs=simulator.allocate(len(SEEDS))[1])
    alone.reset()
    assert_equal(played(alone, 0), played(threads, 0))


def test_starts_are_all_equally_likely():
    env = RwareBatch(4000, **OPTIONS, seed=list(range(4000)))
    env.reset()
    state, n = env.simulator.state, 4000 * 2
    cells = np.bincount(state.agents["cell"].ravel())[env.simulator.world.inside]
    assert (state.agents["cell"][:, 0] != state.agents["cell"][:, 1]).all()
    assert abs(cells / n - 1 / 12).max() < 0.015
    assert abs(np.bincount(state.agents["direction"].ravel()) / n - 1 / 4).max() < 0.02
    assert (state.requested.sum(axis=1) == 4).all()
    assert abs(state.requested.mean(axis=0) - 4 / 5).max() < 0.03


def test_the_rewards_of_the_team_are_their_sum_or_mean():
    def paid(**words):
        return np.array([step[1] for step in played(made(**words), 0, 600)])

    each = paid()
    assert each.sum() > 5
    assert_equal(paid(reward="sum"), each.sum(axis=2))
    assert_equal(paid(reward="mean"), each.mean(axis=2))
    assert_equal(paid(reward_type="global"), np.repeat(each.sum(axis=2, keepdims=True), 2, axis=2))


def test_a_delivered_shelf_is_replaced_by_another_request():
    env = made(n_agents=1)
    state = env.simulator.state
    for _ in range(3000):
        before = state.requested.copy()
        values, terminated, truncated = env.step({"actions": random_actions(env, np.random.default_rng(_))})
        changed = (state.requested != before).any(axis=1)
        assert_equal(changed, values["reward"][:, 0] > 0)
        assert (state.requested.sum(axis=1) == 4).all()
        env.reset(terminated | truncated)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_agnts": 3}, "env_args.n_agnts: .* Did you mean 'n_agents'"),
        ({"key": "rware-tiny-2agg-v2"}, "rware has no id 'rware-tiny-2agg-v2'. Did you mean 'rware-tiny-2ag-v2'"),
        ({"key": "rware-tiny-2ag-v1"}, "Did you mean 'rware-tiny-2ag-v2'"),
        ({"key": "rware-tiny-20ag-v2"}, "rware has no id"),
        ({"key": "rware-1x4-3h-2ag-1req-indiv-v2"}, "rware has no id"),
        ({"key": "rware-img-tiny-2ag-v2"}, "observations that are pictures .*=gymma"),
        ({"key": 3}, "rware has no id '3'"),
        ({"n_agents": 0}, "env_args.n_agents is 0; it must be a whole number from 1 to 110"),
        ({"n_agents": 111}, "env_args.n_agents is 111"),
        ({"shelf_columns": 4}, "env_args.shelf_columns is 4; it must be an odd number"),
        ({"shelf_rows": 0}, "env_args.shelf_rows is 0"),
        ({"column_height": 10**6}, "would have 1000003 x 10 cells; it can have 32767"),
        ({"column_height": 2, "shelf_rows": 1, "layout": LAYOUT}, "exclude each other"),
        ({"layout": "g.x\nx"}, "line 2 has 1 cells, and the first one 3"),
        ({"layout": "g.q"}, r"line 1 has 'q'; cells are g \(a goal\)"),
        ({"layout": "..x"}, "has no goal"),
        ({"layout": "..g"}, "has no shelf"),
        ({"layout": 3}, "env_args.layout is 3; it must be a text"),
        ({"request_queue_size": 32}, "request_queue_size is 32; the warehouse has 32 shelves, of which 0 to 31"),
        ({"request_queue_size": "many"}, "env_args.request_queue_size is many; it must be a whole number"),
        ({"sensor_range": -1}, "env_args.sensor_range is -1"),
        ({"msg_bits": 9}, "env_args.msg_bits is 9; it must be a whole number from 0 to 8"),
        ({"reward_type": "globl"}, "env_args.reward_type is 'globl'. Did you mean 'global'"),
        ({"reward": "ech"}, "env_args.reward is 'ech'. Did you mean 'each'"),
        ({"normalised_coordinates": 2}, "env_args.normalised_coordinates is '2'"),
        ({"max_inactivity_steps": 0}, "env_args.max_inactivity_steps is 0"),
        ({"max_steps": "x"}, "env_args.max_steps is x"),
        ({"time_limit": 0}, "env_args.time_limit is 0"),
    ],
)  # fmt: skip
def test_bad_arguments(given, message):
    with pytest.raises(ConfigError, match=message):
        Rware.check_args(**given)


def test_an_action_that_does_not_exist_changes_nothing():
    env = made(msg_bits=1)
    before, actions = env.state_dict(), np.zeros((5, 2), int)
    for wrong in (-1, 10):
        actions[2, 1] = wrong
        with pytest.raises(ValueError, match="actions are 0 to 9"):
            env.step({"actions": actions})
    assert_equal(env.state_dict(), before)


def test_ids_say_what_the_package_makes_of_them():
    assert len(IDS) == 4 * 19 * 3 - 4
    with pytest.raises(ConfigError, match="request_queue_size is 38; the warehouse has 32 shelves"):
        Options(key="rware-tiny-19ag-easy-v2")
    words = "n_agents shelf_rows shelf_columns column_height request_queue_size sensor_range reward_type".split()
    for key, expected in {
        "rware-tiny-2ag-v2": (2, 1, 3, 8, 2, 1, "individual"),
        "rware-small-19ag-easy-v2": (19, 2, 3, 8, 38, 1, "individual"),
        "rware-medium-5ag-hard-v2": (5, 2, 5, 8, 2, 1, "individual"),
        "rware-4s-large-15h-1ag-hard-v2": (1, 3, 5, 15, 0, 4, "individual"),
        "rware-4x9-1h-7ag-19req-twostage-v2": (7, 4, 9, 1, 19, 1, "two_stage"),
        "rware-2s-1x3-12h-1ag-1req-global-v2": (1, 1, 3, 12, 1, 2, "global"),
    }.items():
        assert settings_of(key) == dict(zip(words, expected, strict=True))
    for key in IDS:
        Options(key=key)


def test_gymma_has_the_packages_spaces():
    env = Gymma(key="rware:rware-tiny-2ag-v2", time_limit=500, seed=1)
    fields = env.fields()
    assert (fields["obs"].shape, fields["state"].shape, fields["actions"].n) == ((71,), (142,), 5)
    assert (env.episode_limit, env.groups) == (500, {"agents": 2})
    assert Gymma(key="rware:rware-tiny-2ag-v2", time_limit=600).episode_limit == 500, "the package's own limit"
    assert Gymma(key="rware:rware-tiny-2ag-v2", time_limit=600, max_steps=None).episode_limit == 600
    words = {"key": "rware:rware-2s-small-3h-4ag-hard-v2", "sensor_range": 3, "seed": [0, 1]}
    assert gymma.batch(2, **words).fields()["obs"].shape == (8 + 49 * 7,)
    assert not gymma.is_compiled(key="rware:rware-img-tiny-2ag-v2")
    assert arguments("rware:rware-tiny-2ag-v2", render_mode="human") is None
    with pytest.raises(ConfigError, match="Did you mean 'rware-tiny-2ag-v2'"):
        Gymma.check_args(key="rware:rware-tiny-2ag-v3")


def test_messages_are_seen_by_those_who_are_near():
    env = made(msg_bits=2, sensor_range=3)
    env.step({"actions": np.tile([0 + 5 * 1, 0 + 5 * 2], (5, 1))})
    cells = env.observed()["obs"][0][:, 8:].reshape(2, 49, 9)
    there = cells[0][cells[0][:, 0] == 1]
    assert sorted(there[:, 5:7].tolist()) == [[0, 1], [1, 0]]
    assert not cells[0][cells[0][:, 0] == 0][:, 5:7].any()
    assert env.action_names()[0][5:7] == ["noop, say 10", "forward, say 10"]


def test_the_drawing_has_shelves_requests_goals_and_agents_with_loads():
    env = made(n_agents=1, request_queue_size=1)
    state = env.simulator.state
    agent = state.agents[0, 0]
    agent["cell"], agent["direction"] = state.shelf_cells[0, 0], 2
    state.requested[0] = [1, 0, 0, 0, 0]
    env.simulator.refresh()
    actions = np.zeros((5, 1), int)
    for action in (4, 1):
        actions[0] = action
        env.step({"actions": actions})
    goal, *shelves, agent, front = env.snapshot()["units"]
    assert (goal["shape"], goal["x"], goal["y"]) == ("ring", 0, 2)
    assert [unit["kind"] for unit in shelves] == ["requested shelf"] + ["shelf"] * 4
    assert [(unit["x"], unit["y"]) for unit in shelves] == [(2, 2), (3, 1), (1, 0), (2, 0), (3, 0)]
    assert (agent["x"], agent["y"], agent["carries"], front["x"]) == (2, 2, "shelf 0", pytest.approx(1.7))
    assert env.scene()["ground"]["rows"] == ["...^", "...^", ".^^^"]
    assert env.action_names() == [["noop", "forward", "turn left", "turn right", "load or unload"]]
