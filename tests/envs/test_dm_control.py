"""dm_control's suite as environments of Gymnasium: on a stand-in for the package, and on the suite itself."""

import sys
from collections import OrderedDict
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from envs.contract.declarations import spec_of
from envs.gymnasium.environment import GymnasiumEnv
from utils.errors import ConfigError


class PhysicsError(RuntimeError):
    pass


class Physics:
    """One number that actions push; above 2.5 it diverges."""

    def __init__(self):
        self.at, self.model = 0.0, SimpleNamespace(**{name: np.zeros(2) for name in CHANGED})

    def get_state(self, signature):
        return np.array([self.at])

    def set_state(self, state, signature):
        self.at = float(state[0])

    def forward(self):
        pass


class Task:
    """What `dm_control.suite.load` returns. Beyond 2, it ends with a discount of 0; after 4 steps, with one of 1."""

    def __init__(self, task_kwargs=None, environment_kwargs=None):
        self.physics, self.task = Physics(), SimpleNamespace(_random=np.random.RandomState(0))
        self._step_limit, self._step_count, self._reset_next_step = 4.0, 0, True

    def action_spec(self):
        return SimpleNamespace(minimum=np.array([-1.0, 0.0]), maximum=np.array([1.0, 5.0]), shape=(2,), dtype=float)

    def observation_spec(self):
        return {name: np.zeros(np.shape(value)) for name, value in self.seen().items()}

    def control_timestep(self):
        return 0.02

    def seen(self):
        return OrderedDict(speed=np.full((2, 1), self.physics.at), height=np.float64(self.start))

    start = 7.0

    def reset(self):
        self.physics.at, self._step_count, self.start = 0.0, 0, float(self.task._random.randint(100))
        return SimpleNamespace(observation=self.seen())

    def step(self, action):
        self.physics.at += action[0]
        self._step_count += 1
        if self.physics.at > 2.5:
            raise PhysicsError("diverged")
        over = self._step_count >= self._step_limit or self.physics.at > 2
        discount = float(self._step_count >= self._step_limit) if over else 1.0
        return SimpleNamespace(observation=self.seen(), reward=0.5, discount=discount, last=lambda: over)

    def close(self):
        pass


CHANGED = ("body_pos", "body_quat", "geom_pos", "geom_quat", "geom_size", "site_pos", "site_size", "wrap_prm")


@pytest.fixture
def standin(monkeypatch):
    from envs.gymnasium import dm_control

    suite, control, mujoco = ModuleType("dm_control.suite"), ModuleType("dm_control.rl.control"), ModuleType("mujoco")
    suite.ALL_TASKS, suite.load = (("ball_in_cup", "catch"), ("cheetah", "run")), lambda *names, **own: Task(**own)
    control.PhysicsError, mujoco.mjtState = PhysicsError, SimpleNamespace(mjSTATE_INTEGRATION=1)
    for module in (suite, control, mujoco, ModuleType("dm_control"), ModuleType("dm_control.rl")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    dm_control.task_of.cache_clear()
    yield
    dm_control.task_of.cache_clear()


def played(env, *pushes):
    ends = []
    for push in pushes:
        _, terminated, truncated, info = env.step({"actions": np.array([[push, 0.0]], np.float32)})
        ends.append((terminated, truncated))
    return ends, info


def test_parts_by_name_or_as_one_vector_in_the_suites_order(standin):
    parts = spec_of(GymnasiumEnv("dm_control/cheetah-run-v0"))
    assert {path: f.shape for path, f in parts.of_kind("observation").items()} == {
        "obs/speed": (2,),
        "obs/height": (1,),
    }
    assert parts.episode_limit == 4
    assert (parts.fields["actions"].low, parts.fields["actions"].high) == ((-1.0, 0.0), (1.0, 5.0))
    for key, part in (("DMBenchBall_in_cupCatch-v0", "/agent"), ("dm_control/ball_in_cup-catch-v0", "/")):
        env = GymnasiumEnv(key, observation_key=part, seed=3)
        env.reset()
        played(env, 0.5)
        assert env.observe()["obs"].tolist() == [[0.5, 0.5, np.random.RandomState(3).randint(100)]]
    assert GymnasiumEnv("dm_control/cheetah-run-v0", observation_key="height").fields()["obs"].shape == (1,)


def test_the_end_of_time_is_a_truncation_and_physics_that_diverge_cut_off(standin):
    env = GymnasiumEnv("dm_control/cheetah-run-v0", seed=1)
    env.reset()
    assert played(env, 0, 0, 0, 0)[0] == [(False, False)] * 3 + [(False, True)]
    env.reset()
    assert played(env, 1, 1, 0.5)[0][-1] == (True, False)
    env.reset()
    ends, info = played(env, 1, 1, 1)
    assert ends[-1] == (False, True) and info["physics_error"] == 1.0
    assert env.observe()["obs/speed"].tolist() == [[2.0, 2.0]]
    shorter = GymnasiumEnv("dm_control/cheetah-run-v0", time_limit=2)
    shorter.reset()
    assert played(shorter, 0, 0)[0][-1] == (False, True)


def test_it_is_saved_in_the_middle_of_an_episode(standin):
    first, second = (GymnasiumEnv("DMBenchCheetahRun-v0", seed=seed) for seed in (1, 2))
    for env in (first, second):
        env.reset()
    played(first, 0.5)
    second.load_state_dict(first.state_dict())
    for _ in range(2):
        assert played(first, 0.25) == played(second, 0.25)
        for env in (first, second):
            env.reset()
        assert first.observe()["obs"].tolist() == second.observe()["obs"].tolist()


def test_a_wrong_task_and_a_missing_package_are_named(standin, monkeypatch):
    with pytest.raises(ConfigError, match=r"no task 'dm_control/cheeta-run-v0'. Did you mean 'dm_control/cheetah-run-"):
        GymnasiumEnv("dm_control/cheeta-run-v0")
    with pytest.raises(ConfigError, match="takes no 'domain'"):
        GymnasiumEnv("dm_control/cheetah-run-v0", kwargs={"domain": "walker"})
    monkeypatch.setitem(sys.modules, "dm_control.suite", None)
    for key in ("dm_control/cheetah-run-v0", "DMBenchWalkerWalk-v0"):
        with pytest.raises(ConfigError, match=r"not installed. .*: pip install -r requirements-dm-control.txt"):
            GymnasiumEnv(key)


@pytest.mark.slow
def test_the_suite_itself():
    pytest.importorskip("dm_control")
    from envs.gymnasium import dm_control

    dm_control.task_of.cache_clear()
    first, second = (GymnasiumEnv("DMBenchPoint_massHard-v0", seed=seed) for seed in (1, 2))
    spec = spec_of(first)
    assert spec.fields["obs"].shape == (4,) and spec.episode_limit == 1000
    acts = np.random.default_rng(0).uniform(-1, 1, (40, 1, 2)).astype(np.float32)
    for env in (first, second):
        env.reset()
    for act in acts[:20]:
        first.step({"actions": act})
    second.load_state_dict(first.state_dict())
    for act in acts[20:]:
        assert first.step({"actions": act}) == second.step({"actions": act})
        assert np.array_equal(first.observe()["obs"], second.observe()["obs"])
