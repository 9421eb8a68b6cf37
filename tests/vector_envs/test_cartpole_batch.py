"""CartPole in arrays plays as single copies do, bit for bit, and keeps the contract of sources of environments."""

import inspect

import numpy as np
import pytest

from checks.parts import ChosenParts
from envs import REGISTRY, batched_names, has_batched_form
from helpers import check_chosen_parts, make_args
from utils.config.merging import config_path, default_config
from utils.config.registry import loaded
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from vector_envs import REGISTRY as SOURCES
from vector_envs.instances import env_parameters

SIZE, SEED = 5, 11


def source(way, **env_args):
    args = make_args(
        env="gymnasium", batch_size_run=SIZE, seed=SEED, runner="episodes", env_args={"seed": SEED, **env_args}
    )
    return SOURCES[way](args)


def choices(rng):
    return {"actions": rng.integers(2, size=(SIZE, 1))}


def outcome_of(env, actions, playing):
    """What a step shows of copies that play, and of all what they see."""
    values, terminated, truncated, lost = env.step(actions)
    seen = {path: array.copy() for path, array in env.observed().items()}
    return seen, values["reward"][playing].tolist(), terminated.tolist(), truncated.tolist(), lost.tolist()


@pytest.mark.parametrize(
    "env_args",
    [
        {"time_limit": 20},
        {"key": "CartPole-v0", "observe": [2, 0], "kwargs": {"sutton_barto_reward": True}},
    ],
)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_it_plays_as_single_copies_do(env_args):
    """Also while some copies have ended and wait, for several episodes of each."""
    native, single = (source(way, **env_args).play(False) for way in ("batched", "in_process"))
    assert native.spec == single.spec
    rng, playing, episodes = np.random.default_rng(0), np.zeros(SIZE, dtype=bool), np.zeros(SIZE, dtype=int)
    ends = np.zeros(2, dtype=int)
    for t in range(400):
        if t % 9 == 0:  # those that have ended meanwhile
            for env in (native, single):
                env.reset(~playing)
            episodes += ~playing
            playing[:] = True
        np.testing.assert_equal(dict(native.observed()), dict(single.observed()))
        actions = choices(rng)
        ours, theirs = (outcome_of(env, actions, playing) for env in (native, single))
        np.testing.assert_equal(ours, theirs)
        ends += [(np.array(ours[k]) & playing).sum() for k in (2, 3)]
        playing &= ~(np.array(ours[2]) | np.array(ours[3]))
    assert episodes.min() > 3
    assert ends[0] > 3, "some fell"
    assert ends[1] > 3 or "time_limit" not in env_args, "some had no time left"
    assert {array.dtype for array in native.observed().values()} == {np.dtype("float32"), np.dtype("uint8")}


def test_an_ended_copy_stays_as_it_is_until_it_is_reset():
    env = source("batched").play(False)
    env.reset()
    right = {"actions": np.ones((SIZE, 1), dtype=np.int64)}
    right["actions"][0] = 0
    ended = np.zeros(SIZE, dtype=bool)
    while not ended.all():
        outcome = env.step(right)
        ended = outcome.terminated | outcome.truncated
    closing = {path: array.copy() for path, array in env.observed().items()}
    for _ in range(3):
        outcome = env.step(right)
        assert outcome.terminated.all()
    np.testing.assert_equal(dict(env.observed()), closing)
    which = np.array([False, True, False, False, True])
    env.reset(which)
    now = env.observed()
    assert (now["state"][~which] == closing["state"][~which]).all()
    assert (np.abs(now["state"][which]) <= 0.05).all()
    assert env.step(right).terminated.tolist() == (~which).tolist()
    assert (env.observed()["state"][~which] == closing["state"][~which]).all()


def test_a_state_is_resumed_during_episodes():
    rng = np.random.default_rng(1)
    env, other = source("batched", time_limit=12), source("batched", time_limit=12)
    env.play(False).reset()
    for _ in range(11):
        env.play(False).step(choices(rng))
    assert other.load_state_dict(env.state_dict())
    courses = []
    for each in (env, other):
        play, rng, course = each.play(False), np.random.default_rng(2), []
        for _ in range(30):
            course.append(outcome_of(play, choices(rng), slice(None)))
            play.reset(np.array(course[-1][2]) | np.array(course[-1][3]))
        courses.append(course)
    np.testing.assert_equal(courses[0], courses[1])


@pytest.mark.parametrize("name", batched_names())
def test_a_batched_form_takes_the_arguments_of_a_single_environment(name):
    """Those that a config file gives come, too, where they say nothing."""
    batched = inspect.signature(loaded(REGISTRY.entry(name).traits["batched"])).parameters
    single = env_parameters(REGISTRY[name])
    takes_anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in batched.values())
    assert takes_anything or set(single or ()) <= set(batched)


def test_the_configs_own_arguments_make_it():
    given = load_yaml(config_path("gymnasium", "envs"))["env_args"]
    source("batched", **given | {"seed": SEED}).close()


def test_only_cartpole_has_this_form():
    assert has_batched_form("gymnasium", {})
    assert has_batched_form("gymnasium", {"key": "CartPole-v0", "kwargs": {}})
    assert not has_batched_form("gymnasium", {"key": "Pendulum-v1"})
    assert not has_batched_form("gymnasium", {"key": "phys2d/CartPole-v1"})
    assert not has_batched_form("gymnasium", {"kwargs": {"render_mode": "human"}})
    assert not has_batched_form("gymnasium", {"wrappers": ["FlattenObservation"]})
    assert has_batched_form("skirmish", {"map_name": "3m"})
    assert not has_batched_form("lbf", {})
    config = {**default_config(), "env": "gymnasium", "vector_env": "batched", "env_args": {"key": "Pendulum-v1"}}
    with pytest.raises(ConfigError, match="env=gymnasium with these env_args does not"):
        check_chosen_parts(config)


def test_the_source_that_is_chosen():
    config = {**default_config(), "env": "gymnasium", "runner": "episodes", "env_args": {"key": "CartPole-v1"}}
    assert ChosenParts({**config, "batch_size_run": 8}).name("vector_env") == "batched"
    assert ChosenParts({**config, "batch_size_run": 1}).name("vector_env") == "in_process"
    assert (
        ChosenParts({**config, "batch_size_run": 8, "env_args": {"key": "Acrobot-v1"}}).name("vector_env")
        == "in_process"
    )


@pytest.mark.parametrize("way", ["batched", "in_process", pytest.param("workers", marks=pytest.mark.slow)])
def test_it_has_snapshots_and_saves_no_replays(way):
    """Pushes to the right let the pole fall to the left."""
    env = source(way)
    play = env.play(False)
    play.reset()
    for _ in range(8):
        play.step({"actions": np.ones((SIZE, 1), dtype=np.int64)})
    x, _, angle, _ = play.observed()["state"][0]
    cart, pole = play.snapshot()["units"]
    assert (cart["x"], cart["y"]) == (pytest.approx(x), 0)
    assert (pole["x"], pole["y"]) == (pytest.approx(x + np.sin(angle)), pytest.approx(np.cos(angle)))
    assert pole["x"] < cart["x"]
    assert play.scene() == {"bounds": [-3.0, -0.6, 3.0, 1.6]}
    with pytest.raises(NotImplementedError, match="cannot save replays"):
        env.save_replay()
    env.close()
