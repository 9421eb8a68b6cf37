"""Gymnasium's environments: their spaces as fields, their ends, and errors for those that cannot be made."""

import sys

import gymnasium
import numpy as np
import pytest

import gym_tasks
from checks.side_effects import reaching
from envs.contract.declarations import spec_of
from envs.contract.fields import FieldSpec
from envs.gymnasium.environment import GymnasiumEnv
from utils.config.merging import default_config
from utils.errors import ConfigError


def kinds(seed=3, **kwargs):
    env = GymnasiumEnv(key="Kinds-v0", kwargs=kwargs, seed=seed)
    env.reset()
    return env


def act(env, **own):
    chosen = {
        path: np.zeros((1, *field.shape), field.dtype) for path, field in env.fields().items() if field.kind == "action"
    }
    return env.step(chosen | own)


def test_a_vector_a_choice_and_a_state():
    spec = spec_of(GymnasiumEnv())
    assert spec.groups == {"agents": 1}
    assert spec.episode_limit == 500
    assert spec.fields["obs"] == FieldSpec("observation", (4,))
    assert spec.fields["state"] == FieldSpec("observation", (4,), group=None)
    assert spec.fields["actions"] == FieldSpec("action", (), "int64", n=2)
    assert spec.fields["avail_actions"] == FieldSpec("mask", (2,), "uint8", of="actions")
    sizes = {"n_agents": 1, "n_actions": 2, "obs_shape": 4, "state_shape": 4, "episode_limit": 500}
    assert spec.env_info == sizes  # what PyMARL's parts need


def test_bounds_of_continuous_actions_are_declared():
    fields = GymnasiumEnv(key="Pendulum-v1").fields()
    assert fields["actions"] == FieldSpec("action", (1,), low=-2.0, high=2.0)
    assert fields["obs"] == FieldSpec("observation", (3,), low=(-1.0, -1.0, -8.0), high=(1.0, 1.0, 8.0))
    assert "avail_actions" not in fields


def test_a_choice_that_is_seen_is_one_hot():
    env = GymnasiumEnv(key="FrozenLake-v1", kwargs={"is_slippery": False})
    env.reset()
    act(env, actions=np.array([1]))  # down
    assert env.observe()["obs"].tolist() == [np.eye(16)[4].tolist()]
    assert env.observe()["state"].tolist() == np.eye(16)[4].tolist()


def test_every_part_of_an_observation_is_a_field():
    env = kinds()
    fields = {path: field for path, field in env.fields().items() if field.kind == "observation"}
    assert fields == {
        "obs/camera": FieldSpec("observation", (2, 3, 1), "uint8", low=0.0, high=255.0),
        "obs/own/speed": FieldSpec("observation", (2,), high=9.0),
        "obs/own/gear": FieldSpec("observation", (3,), low=0.0, high=1.0),
        "obs/lamps": FieldSpec("observation", (2,), low=0.0, high=1.0),
        "obs/pair/0": FieldSpec("observation", (5,), low=0.0, high=1.0),
        "obs/pair/1": FieldSpec("observation", (2,), low=0.0, high=1.0),
    }
    act(env)
    seen = env.observe()
    assert seen["obs/camera"].tolist() == np.full((1, 2, 3, 1), 10).tolist()
    assert seen["obs/own/speed"].tolist() == [[env._env.unwrapped.noise, 1.0]]
    assert seen["obs/own/gear"].tolist() == [[0, 1, 0]]
    assert seen["obs/lamps"].tolist() == [[1, 1]]
    assert seen["obs/pair/0"].tolist() == [[0, 1, 0, 1, 0]]
    assert seen["obs/pair/1"].tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/own/speed", {"obs": (2,)}),
        ("own", {"obs": (5,)}),
        ("camera", {"obs": (2, 3, 1)}),
        ("/", {"obs": (20,)}),
        (None, None),
    ],
)
def test_the_part_of_an_observation_that_the_agent_sees(path, expected):
    env = GymnasiumEnv(key="gym_tasks:Kinds-v0", observation_key=path, seed=3)
    env.reset()
    shapes = {path: field.shape for path, field in env.fields().items() if path.startswith("obs")}
    assert expected is None or shapes == expected
    assert {path: env.observe()[path].shape[1:] for path in shapes} == shapes
    act(env)
    if path == "own":  # speed, then one of three gears: the order of the space
        assert env.observe()["obs"][0, 1:].tolist() == [1, 0, 1, 0]


def test_an_observation_without_parts_is_digideeps_agent():
    assert GymnasiumEnv("Pendulum-v1", observation_key="/agent").fields()["obs"].shape == (3,)
    with pytest.raises(ConfigError, match=r"observation_key='sped': .* no such part.* Allowed: /, camera, lamps, own,"):
        GymnasiumEnv("gym_tasks:Kinds-v0", observation_key="sped")
    with pytest.raises(ConfigError, match="observation_key is 3; it must be a path"):
        GymnasiumEnv.check_args(observation_key=3)


def test_every_part_of_an_action_is_a_branch():
    env = kinds()
    assert {
        path: (field.n, field.low, field.high) for path, field in env.fields().items() if field.kind == "action"
    } == {
        "actions/doors/0/0": (2, None, None),
        "actions/doors/0/1": (2, None, None),
        "actions/doors/1/0": (2, None, None),
        "actions/doors/1/1": (3, None, None),
        "actions/gear": (3, None, None),
        "actions/steer": (None, (-1.0, 0.0), (1.0, 5.0)),
    }
    doors = {"actions/doors/0/1": np.array([1]), "actions/doors/1/0": np.array([1]), "actions/doors/1/1": np.array([2])}
    act(env, **doors, **{"actions/gear": np.array([2]), "actions/steer": np.array([[0.25, 7.0]], np.float32)})
    given = env._env.unwrapped.given[0]
    assert gym_tasks.DONE.contains(given)
    assert given["doors"][0].tolist() == [0, 1]
    assert given["doors"][1].tolist() == [[6, 2]], "counted from the start of each"
    assert given["gear"] == 3
    assert given["steer"].tolist() == [0.25, 5.0], "clipped to its bounds"


def test_what_is_legal_comes_from_the_info():
    env = kinds(actions="choice")
    legal = [env.observe()["avail_actions"].tolist()]
    for _ in range(3):
        info = act(env)[3]
        legal.append(env.observe()["avail_actions"].tolist())
    assert legal == [[[0, 1, 1]], [[1, 0, 0]], [[1, 0, 0]], [[1, 0, 0]]]
    assert info == {"distance": 3}
    act(env)
    assert env.observe()["avail_actions"].tolist() == [[1, 1, 1]], "after the end, nothing need be legal"


@pytest.mark.parametrize(
    ("kwargs", "limit", "expected"),
    [
        ({"length": 4}, None, (4, True, False)),
        ({"length": 4, "ends": ["truncated"]}, None, (4, False, True)),
        ({"length": 4, "ends": ["terminated", "truncated"]}, None, (4, True, False)),
        ({"length": 6}, None, (6, True, False)),
        ({"length": 99}, None, (6, False, True)),
        ({"length": 99}, 2, (2, False, True)),
        ({"length": 99}, 9, (9, False, True)),
    ],
)
def test_terminated_and_truncated_are_two_facts(kwargs, limit, expected):
    env = GymnasiumEnv(key="Kinds-v0", kwargs=kwargs, time_limit=limit)
    for _ in range(2):
        env.reset()
        for t in range(1, 20):
            outcomes, *ends, _ = act(env)
            assert outcomes == {"reward": t / 2}
            if any(ends):
                break
        assert (t, *ends) == expected
        assert env.observe()["obs/own/speed"][0, 1] == t, "what is seen last is the end of this episode"


def test_infos_that_appear_only_sometimes_are_marked():
    """Digideep's defect 14: values of keys that were missing in between moved to earlier steps."""
    env = GymnasiumEnv(key="Kinds-v0", infos=["distance", "bonus"], kwargs={"length": 3})
    fields = env.fields()
    assert (fields["infos/bonus"].kind, fields["infos/bonus/known"].dtype) == ("outcome", "uint8")
    env.reset()
    seen = [act(env)[0] for _ in range(3)]
    assert [(step["infos/bonus"], step["infos/bonus/known"]) for step in seen] == [(0, 0), (1.0, 1), (0, 0)]
    assert [(step["infos/distance"], step["infos/distance/known"]) for step in seen] == [(1, 1), (2, 1), (3, 1)]
    env = GymnasiumEnv(key="Kinds-v0", infos=["name"])
    env.reset()
    act(env)
    with pytest.raises(ConfigError, match="'name' is x, and not one number"):
        act(env)


def test_words_of_its_info_have_no_meaning_for_runs(monkeypatch):
    """highway-env's "crashed" is an accident, and its episode counts."""
    env = kinds(length=1)
    said = {"crashed": True, "only_of": 3, "speed": 2.0, "env_only_of": 4}
    monkeypatch.setattr(env._env.unwrapped, "step", lambda action: (env._env.unwrapped.seen(), 0.0, True, False, said))
    assert act(env)[-1] == {"env_crashed": True, "env_only_of_2": 3, "speed": 2.0, "env_only_of": 4}


def test_entries_of_a_vector_can_be_left_out():
    whole, part = GymnasiumEnv(seed=1), GymnasiumEnv(seed=1, observe=[2, 0])
    assert part.fields()["obs"].shape == (2,)
    assert part.fields()["state"].shape == (4,)
    for env in (whole, part):
        env.reset()
        act(env)
    assert part.observe()["obs"].tolist() == whole.observe()["obs"][:, [2, 0]].tolist()
    assert part.observe()["state"].tolist() == whole.observe()["obs"][0].tolist()
    assert GymnasiumEnv(key="Pendulum-v1", observe=[2]).fields()["obs"].high == (8.0,)


def test_the_course_is_gymnasiums():
    ours, theirs = GymnasiumEnv(key="Pendulum-v1", seed=7), gymnasium.make("Pendulum-v1")
    for seed in (7, None):
        seen = theirs.reset(seed=seed)[0]
        ours.reset()
        for action in np.linspace(-2, 2, 200, dtype=np.float32):
            assert ours.observe()["obs"].tolist() == [seen.tolist()]
            seen, reward, *ends, _ = theirs.step(action[None])
            outcomes, *our_ends, _ = act(ours, actions=action[None, None])
            assert (outcomes["reward"], our_ends) == (reward, ends)
        assert ends == [False, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": "CartPol-v1"}, "no environment 'CartPol-v1'. Did you mean 'CartPole-v1'"),
        ({"key": "no_such_module:X-v0"}, "No module named 'no_such_module', neither installed nor in /"),
        ({"key": "gym_tasks:Trun"}, r"has no environment 'Trun'. Did you mean 'Turns'. Allowed: Bonus, Bonus-v0"),
        ({"key": "gym_tasks:Turn-v0"}, r"gymnasium, with .*gym_tasks.py, has no environment 'Turn-v0'. .* 'Turns-v0'"),
        ({"key": "HalfCheetah-v5"}, r'Install them with: pip install "gymnasium\[mujoco\]"'),
        ({"key": "LunarLander-v3"}, r'Install them with: pip install "gymnasium\[box2d\]"'),
        ({"key": "ALE/Pong-v5"}, r"needs the package 'ale_py', .* with: pip install \"gymnasium\[atari\]\""),
        ({"key": "ale_py:ALE/Pong-v5"}, r"needs the package 'ale_py', .* with: pip install \"gymnasium\[atari\]\""),
        ({"key": "Blackjack-v1"}, "env_args.time_limit: gymnasium sets no limit for the episodes of Blackjack-v1"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"time_limit": 2.5}, r"time_limit is 2\.5"),
        ({"kwargs": {"gravty": 1}}, "CartPole-v1 takes no 'gravty'"),
        ({"kwargs": {"max_episode_steps": 9}}, "set env_args.time_limit"),
        ({"kwargs": [1]}, r"kwargs is \[1\]"),
        ({"key": "FrozenLake-v1", "kwargs": {"map_name": "3x"}}, "cannot be made with map_name='3x': KeyError"),
        ({"observe": [0, 4]}, r"observe is \[0, 4\]; it must have different numbers from 0 to 3"),
        ({"observe": 1}, "observe is 1; it must be a list"),
        ({"key": "gym_tasks:Kinds-v0", "observe": [0]}, "not one vector"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_arguments_that_do_not_fit(changes, message):
    with pytest.raises(ConfigError, match=message):
        GymnasiumEnv.check_args(**changes)


def test_a_recorded_id_may_not_import_a_module_unseen():
    config = {**default_config(), "env": "gymnasium"}
    assert reaching({**config, "env_args": {"key": "phys2d/CartPole-v1"}}) == {}
    named = {"key": "evil.module:CartPole-v1"}
    assert reaching({**config, "env_args": named}) == {"env_args.key": "evil.module:CartPole-v1"}


def test_an_environment_with_more_than_numbers_cannot_be_saved():
    with pytest.raises(NotImplementedError, match=r"Kinds\.kept is a object"):
        kinds(kept="world").state_dict()
    env = kinds()
    env._env.unwrapped.alias = env._env.unwrapped.given
    with pytest.raises(NotImplementedError, match="shared"):
        env.state_dict()


def _placed(key, *state):
    env = GymnasiumEnv(key=key)
    env.reset()
    env._env.unwrapped.state = np.array(state)
    units, links = env.snapshot()["units"], env.snapshot()["links"]
    assert [(link["from"], link["to"]) for link in links] == [(i, i + 1) for i in range(len(units) - 1)]
    return [(round(unit["x"], 6), round(unit["y"], 6)) for unit in units]


def test_parts_are_where_gymnasium_draws_them():
    right = np.pi / 2
    assert _placed("CartPole-v1", 0.5, 0, right, 0) == [(0.5, 0), (1.5, 0)]
    assert _placed("Pendulum-v1", 0, 0) == [(0, 0), (0, 1)]
    assert _placed("Pendulum-v1", right, 0) == [(0, 0), (-1, 0)]
    assert _placed("MountainCar-v0", -np.pi / 6, 0) == [(round(-np.pi / 6, 6), 0.1)]
    assert _placed("Acrobot-v1", 0, 0, 0, 0) == [(0, 0), (0, -1), (0, -2)]
    assert _placed("Acrobot-v1", right, right, 0, 0) == [(0, 0), (1, 0), (1, 1)]


def test_an_environment_of_ones_own_is_found_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_gym.py").write_text(
        "import gymnasium\nimport gym_tasks\n"
        "class Halved(gymnasium.RewardWrapper):\n    def reward(self, reward):\n        return reward / 2\n"
        "gymnasium.register('Mine-v0', entry_point=gym_tasks.Bonus, max_episode_steps=6)\n"
    )
    for module in ("my_gym", "my_gym.py"):
        env = GymnasiumEnv(f"{module}:Mine-v0", wrappers=[f"{module}:Halved"])
        env.reset()
        assert act(env)[0]["reward"] == 0.5
        monkeypatch.delitem(gymnasium.registry, "Mine-v0")
        monkeypatch.delitem(sys.modules, "my_gym")


def test_what_a_module_of_an_environment_lacks_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lacking_gym.py").write_text("import gymnasium\nimport no_such_thing\n")
    words = "importing 'lacking_gym' failed at line 2: No module named 'no_such_thing'. .* pip install no_such_thing$"
    with pytest.raises(ConfigError, match=words):
        GymnasiumEnv.check_args(key="lacking_gym:X-v0")
    with pytest.raises(ConfigError, match=words):
        GymnasiumEnv.check_args(wrappers=["lacking_gym:X"])
    gymnasium.register("Lacking-v0", entry_point="lacking_gym:X", max_episode_steps=2)
    with pytest.raises(
        ConfigError, match=r"Lacking-v0 cannot be made: ModuleNotFoundError: .* pip install no_such_thing"
    ):
        GymnasiumEnv.check_args(key="Lacking-v0")
    gymnasium.registry.pop("Lacking-v0")
