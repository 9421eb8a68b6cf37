"""PressurePlate, Capture Target and Box Pushing: equal to recorded play of PyMARLzoo+'s, and what differs."""

from pathlib import Path

import numpy as np
import pytest

from envs.grids import environment
from envs.grids.environment import BoxPushing, BoxPushingBatch, CaptureTargetBatch, PressurePlate, PressurePlateBatch
from utils.errors import ConfigError

PLAYED = np.load(Path(__file__).parent / "episodes.npz")
NAMES = sorted({name.rpartition("/")[0] for name in PLAYED.files})


def game(name):
    """The batched class and arguments of a recorded one."""
    key, *values = name.split()
    if key == "CaptureTarget":
        one_hot, avoids, flick, target_noise, noise = map(float, values)
        options = {"obs_one_hot": bool(one_hot), "tgt_avoid_agent": bool(avoids), "target_flick_prob": flick}
        return CaptureTargetBatch, options | {"tgt_trans_noise": target_noise, "agent_trans_noise": noise}
    if key == "BoxPushing":
        return BoxPushingBatch, {"random_init": values == ["1"]}
    return PressurePlateBatch, {"key": name}


@pytest.mark.parametrize("name", NAMES)
def test_equal_to_the_package(name):
    """Observations, rewards and ends at every step, from the package's random numbers."""
    batch, options = game(name)
    env = batch(1, seed=[0], reward="each", **options)
    state, outputs = env.simulator.state, env.simulator.outputs
    state.copies["given"] = 1
    begins, chance, actions, rewards, ended, obs = (
        PLAYED[f"{name}/{column}"] for column in ("begins", "chance", "actions", "rewards", "ended", "obs")
    )
    assert env.episode_limit == (500 if batch is PressurePlateBatch else 60)
    for row in range(len(begins)):
        state.chance[0] = chance[row] / 2**16
        if begins[row]:
            env.reset()
        else:
            env.step({"actions": actions[row][None]})
            np.testing.assert_allclose(outputs.rewards[0], rewards[row], rtol=0, atol=1e-14, err_msg=f"row {row}")
            assert (outputs.terminated[0] or outputs.truncated[0]) == ended[row], row
        np.testing.assert_array_equal(outputs.obs[0], obs[row].astype(np.float32), err_msg=f"row {row}")


@pytest.mark.parametrize(("n", "height"), [(4, 15), (5, 19), (6, 23)])
def test_random_numbers_of_our_own_reach_all_starts(n, height):
    env = PressurePlateBatch(64, seed=list(range(64)), key=f"pressureplate-linear-{n}p-v0")
    assert env.simulator.rooms.height == height
    env.reset()
    assert (env.simulator.state.places == env.simulator.state.places[0]).all(), "the first episode's starts are fixed"
    env.reset()
    starts = {tuple(place) for place in env.simulator.state.places[:, 0].tolist()}
    assert starts == {*env.simulator.rooms.starts}
    assert len(np.unique(env.simulator.state.order, axis=0)) > 10


def test_where_agents_see_each_other():
    seen = {}
    for layer in ("starts", "now"):
        env = PressurePlateBatch(1, seed=[0], agents_layer=layer)
        env.reset()
        for _ in range(4):
            env.step({"actions": np.array([[3, 3, 4, 4]])})
        seen[layer] = env.observed()["obs"][0, 0]
    places = env.simulator.state.places[0]
    expected = np.zeros((5, 5))
    for x, y in places - places[0] + 2:
        if 0 <= x < 5 and 0 <= y < 5:
            expected[y, x] = 1
    assert np.array_equal(seen["now"][:25].reshape(5, 5), expected)
    assert not np.array_equal(seen["starts"][:25], seen["now"][:25])
    assert np.array_equal(seen["starts"][25:], seen["now"][25:])


def test_a_target_that_is_caught_ends_the_episode():
    env = CaptureTargetBatch(1, seed=[3], agent_trans_noise=0)
    env.reset()
    env.simulator.state.places[0] = [[2, 2], [3, 3], [2, 3]]
    outcomes, terminated, truncated = env.step({"actions": np.array([[0, 2]])})
    assert (outcomes["reward"].tolist(), terminated.tolist(), truncated.tolist()) == ([2], [True], [False])


def test_draws_have_the_frequencies_that_are_asked_for():
    env = CaptureTargetBatch(4000, seed=7, target_flick_prob=0.25, agent_trans_noise=0.4, tgt_avoid_agent=False)
    env.reset()
    before = env.simulator.state.places.copy()
    assert np.allclose(np.bincount(before[:, 2, 0], minlength=6) / 4000, 1 / 6, atol=0.03)
    env.step({"actions": np.zeros((4000, 2), int)})
    assert abs(env.simulator.state.seen.mean() - 0.75) < 0.02
    went = (env.simulator.state.places - before)[:, 0, 0]
    assert abs((went == 0).mean() - 0.6) < 0.03
    assert abs(np.isin(went, (1, -5)).mean() - 0.2) < 0.03
    moves = [tuple(move) for move in ((env.simulator.state.places - before)[:, 2] % 6).tolist()]
    assert np.allclose([moves.count(one) / 4000 for one in {*moves}], 0.2, atol=0.03)
    env = BoxPushingBatch(4000, seed=7)
    env.reset()
    agents = env.simulator.state.agents
    assert [sorted({*agents[:, :, k].flat}) for k in range(3)] == [[*range(1, 16, 2)], [1, 3, 5], [0, 1, 2, 3]]


def test_starts_inside_the_board():
    env = BoxPushingBatch(200, seed=7, starts_inside=True)
    env.reset()
    assert env.simulator.state.agents[:, :, 0].max() == 11
    assert env.scene()["bounds"] == [0, 0, 6, 6]
    env = BoxPushing(random_init=False)
    env.reset()
    assert env.batch.simulator.state.agents[0].tolist() == [[1, 3, 1], [11, 3, 3]]


def test_time_that_is_up_truncates():
    env = PressurePlate(time_limit=1, seed=0)
    env.reset()
    assert env.step({"actions": np.full(4, 4)})[1:3] == (False, True)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("PressurePlate", {"key": "pressureplate-linear-3p-v0"}, "Did you mean.*pressureplate-linear-4p-v0"),
        ("PressurePlate", {"agents_layer": "start"}, "env_args.agents_layer is 'start'"),
        ("PressurePlate", {"render": True}, "env_args.render must be False.*watch.py"),
        ("CaptureTarget", {"target_flick_prob": 1.5}, "env_args.target_flick_prob is 1.5; .* from 0 to 1"),
        ("CaptureTarget", {"obs_one_hot": "yes"}, "env_args.obs_one_hot is 'yes'"),
        ("CaptureTarget", {"tgt_avoid_agents": True}, "Did you mean 'tgt_avoid_agent'"),
        ("BoxPushing", {"key": "BoxPushing-8x8-2a-v0"}, "env_args.key is 'BoxPushing-8x8-2a-v0'"),
        ("BoxPushing", {"starts_inside": 2}, "env_args.starts_inside is '2'"),
    ],
)
def test_bad_arguments_are_refused(name, options, words):
    with pytest.raises(ConfigError, match=words):
        getattr(environment, name).check_args(**options)


def test_drawings_show_doors_sights_and_headings():
    env = PressurePlateBatch(1, seed=[0])
    env.reset()
    env.simulator.state.places[0, 0] = (7, 12)
    env.step({"actions": np.array([[1, 4, 4, 4]])})
    doors = {unit["id"]: unit["open"] for unit in env.snapshot()["units"] if unit["kind"] == "door"}
    assert doors == {
        "door 0 6": True,
        "door 0 7": True,
        "door 1 2": False,
        "door 1 3": False,
        "door 2 6": False,
        "door 2 7": False,
    }
    assert env.scene()["ground"]["rows"][11] == "######..#"
    assert env.action_names()[0][1] == "down"
    env = CaptureTargetBatch(1, seed=[0], target_flick_prob=0)
    env.reset()
    assert [link["from"] for link in env.snapshot()["links"]] == [0, 1]
    env = BoxPushingBatch(1, seed=[0], random_init=False)
    env.reset()
    agents = env.snapshot()["units"][-4:]
    assert [unit["faces"] for unit in agents[::2]] == ["right", "left"]
    assert [unit["x"] for unit in agents] == [0.5, 0.88, 5.5, 5.12]
    assert env.scene()["ground"]["rows"][0] == "^^^^^^"
