"""The PettingZoo wrapper on environments that do what few do: masks, deaths, early cuts."""

import sys
from types import ModuleType

import numpy as np
import pytest

from envs.contract.validation import InvalidEnvironmentError
from envs.pettingzoo import environment
from envs.pettingzoo.environment import PettingZoo
from envs.pettingzoo.team import PettingZooEnv
from parades import Parade, install
from utils.errors import ConfigError


@pytest.fixture(autouse=True)
def parade_module(monkeypatch):
    install(monkeypatch, Parade)
    monkeypatch.setattr(environment, "_TRIED", set())


def make(time_limit=10, reward="sum", **kwargs):
    env = PettingZooEnv(key="parades.parade_v0", time_limit=time_limit, kwargs=kwargs, reward=reward, seed=5)
    env.reset()
    return env


def test_unequal_agents_are_padded():
    env = make()
    info = {"state_shape": 12, "obs_shape": 4, "n_actions": 4, "n_agents": 3, "episode_limit": 10}
    assert env.get_env_info() == info
    assert env.get_obs().tolist() == [[0.5] * 4, [0, 1, 0, 0], [0, 0, 0, 0]]
    assert env.get_avail_actions().tolist() == [[0, 1, 0, 0], [1, 1, 1, 1], [1, 0, 1, 0]]
    assert env.get_state().tolist() == env.get_obs().flatten().tolist()


def test_the_state_is_the_environments_own_unless_it_is_to_be_that_of_observations():
    env = make(with_state=True)
    env.step([1, 0, 0])
    assert env.get_state().tolist() == [1, 42]
    assert env.get_state_size() == 2
    env = PettingZooEnv(key="parades.parade_v0", kwargs={"with_state": True}, state="observations")
    env.reset()
    assert env.get_state().tolist() == env.get_obs().flatten().tolist()
    assert env.get_state_size() == 12


def test_an_agent_that_died():
    env = make()
    assert env.step([1, 3, 2]) == (111.0, False, {"episode_limit": False})
    assert env.step([1, 3, 2]) == (222.0, False, {"episode_limit": False})
    assert env.get_avail_actions()[1].tolist() == [1, 0, 0, 0], "dead: action 0 and nothing else"
    assert env.get_obs()[1].tolist() == [0, 1, 0, 0], "what it saw last is what the environment says it saw"
    assert env.step([1, 0, 2]) == (303.0, False, {"episode_limit": False})
    assert env.get_obs()[1].tolist() == [0, 0, 0, 0]
    assert env._env.given[1] == {"a": 1, "b": 3, "c": 2}
    assert env._env.given[2] == {"a": 1, "c": 2}, "the dead are not passed on"


@pytest.mark.parametrize(("end", "truncated"), [("terminate", False), ("truncate", True)])
def test_ends_of_the_environments_own(end, truncated):
    """EPyMARL drops the last reward and observation."""
    env = make(end=end)
    for _ in range(3):
        assert not env.step([1, 0, 0])[1]
    assert env.step([1, 0, 0]) == (404.0, True, {"episode_limit": truncated})
    assert env.get_obs()[2].tolist() == [4, 0, 0, 0]
    legal = [[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0]] if truncated else [[1, 0, 0, 0]] * 3
    assert env.get_avail_actions().tolist() == legal, "values continue after a cut, so actions stay legal"


@pytest.mark.parametrize("end", ["terminate", "truncate"])
def test_an_agent_that_ended_may_stay_in_the_list(end):
    """Its end is final all the same: the run sees what it would see if the agent left."""
    stays, leaves = make(end=end, stays=True), make(end=end)
    for _ in range(4):
        assert stays.step([1, 0, 0]) == leaves.step([1, 0, 0])
        assert stays.get_obs().tolist() == leaves.get_obs().tolist()
        assert stays.get_avail_actions().tolist() == leaves.get_avail_actions().tolist()
    assert [sorted(given) for given in stays._env.given] == [["a", "b", "c"]] * 4, "who is listed is asked"
    assert [given["b"] for given in stays._env.given] == [0] * 4


def test_ends_are_those_of_one_episode():
    env = make(stays=True)
    for _ in range(2):
        env.reset()
        assert env.get_avail_actions()[1].tolist() == [1, 1, 1, 1]
        assert [env.step([1, 0, 0])[1] for _ in range(4)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("mask", r"c: info\['action_mask'\] is missing; an environment that marks what is legal does so after"),
        ("zeros", r"c: info\['action_mask'\] marks no action as legal"),
        ("wide", r"c: info\['action_mask'\] is an array of the shape \(4,\); of 3 choices it must"),
        ("unknown", r"b: the observation 'obs' is 10; its space is Discrete\(3\)"),
        ("short", r"c: the observation 'obs' has the shape \(0,\); it was announced as \(1,\)"),
    ],
)
def test_odd_observations_and_masks_end_a_run(odd, words):
    env = make(odd=odd)
    env.step([1, 0, 0])
    with pytest.raises(InvalidEnvironmentError, match=rf"^env_args.key=parades.parade_v0, in step 2: {words}"):
        env.step([1, 0, 0])
    with pytest.raises(ConfigError, match=rf"A short random play before the run: .*in step 2: {words}"):
        check(odd=odd)


def check(state="own", **kwargs):
    PettingZoo.check_args(key="parades.parade_v0", time_limit=10, kwargs=kwargs, state=state, seed=5)


@pytest.mark.parametrize("groups", [None, {"one": ["a"], "two": ["b"], "three": ["c"]}])
def test_a_state_that_changes_shape_is_found_before_a_run(groups):
    words = r"in step 1: state\(\) has 1 numbers; at first it had 2. With env_args.state=observations, .* is left out"
    args = {"key": "parades.parade_v0", "time_limit": 10, "kwargs": {"with_state": "shrinking"}, "groups": groups}
    with pytest.raises(ConfigError, match=words):
        PettingZoo.check_args(**args)
    env = PettingZoo(**args)
    env.reset()
    rest = [0, 0, 0] if groups is None else {f"{group}/actions": np.array([0]) for group in groups}
    with pytest.raises(InvalidEnvironmentError, match=words):
        env.step(rest)
    PettingZoo.check_args(**args, state="observations")
    assert PettingZoo(**args, state="observations")._env.state().tolist() == [0, 42]
    with pytest.raises(ConfigError, match=r"env_args.state is 'nobody'.* Allowed: observations, own"):
        PettingZoo.check_args(**args, state="nobody")


def test_numbers_beyond_their_bounds_are_warned_of_before_a_run(caplog):
    with caplog.at_level("WARNING"):
        check(odd="beyond")
        check(odd="beyond")
    (warning,) = (record.getMessage() for record in caplog.records)
    assert "in step 2: what a sees is beyond its bounds: obs[0, 0] is 9.5, and the bounds of its space are" in warning
    assert "Nothing is scaled by these bounds" in warning


def test_rewards_can_be_averaged_over_all_agents():
    env = make(reward="mean")
    assert env.step([1, 0, 0])[0] == pytest.approx(37)


def test_arguments_reach_the_environment():
    from mpe2 import simple_spread_v3

    assert PettingZooEnv(kwargs={"N": 4}).n_agents == 4
    env = PettingZooEnv(time_limit=7)
    env.reset()
    ends = [env.step([0, 0, 0])[1:] for _ in range(7)]
    assert ends == [(False, {"episode_limit": False})] * 6 + [(True, {"episode_limit": True})]
    # rewards are the environment's own
    theirs = simple_spread_v3.parallel_env(max_cycles=25)
    theirs.reset(seed=3)
    ours = PettingZooEnv(seed=3)
    ours.reset()
    for _ in range(3):
        _, rewards, _, _, _ = theirs.step(dict.fromkeys(theirs.agents, 1))
        assert ours.step([1, 1, 1])[0] == pytest.approx(sum(rewards.values()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kwargs": {"continuous": True}}, "only Discrete"),
        ({"key": "mpe2.simple_spread_v3", "kwargs": {"N": -3, "local_ratio": 0.5}}, "be made with N=-3: "),
        ({"kwargs": {"endd": 1}}, "takes no 'endd'.* Did you mean 'end'"),
        ({"reward": "max"}, "Allowed: mean, sum"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"key": "envs.small.two_step"}, r"envs/small/two_step.py\) has no parallel_env"),
        ({"key": "parades.parade_v9"}, "No module named 'parades.parade_v9'"),
        (
            {"key": "no_such_package.game"},
            r"No module named 'no_such_package', neither installed nor in /",
        ),
        ({"key": "mpe2.simple_spred_v3"}, r"no module 'mpe2.simple_spred_v3'. Did you mean 'mpe2.simple_spread_v3'"),
        ({"key": "pettingzoo.sils.pursuit_v5"}, r"no module .* Did you mean 'pettingzoo.sisl.pursuit_v5'"),
        ({"key": "pettingzoo.sisl.pursuit"}, r"no parallel_env, .* Did you mean 'pettingzoo.sisl.pursuit_v5'"),
        ({"key": "nowhere/game.py"}, r"there is no file /.*nowhere/game.py"),
    ],
)
def test_arguments_that_do_not_fit(changes, message):
    with pytest.raises(ConfigError, match=message):
        PettingZooEnv(**{"key": "parades.parade_v0", **changes})


def test_what_is_missing_inside_a_game_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    for name in [name for name in sys.modules if name.startswith("pettingzoo.sisl.multiwalker")]:
        monkeypatch.delitem(sys.modules, name)
    words = r"multiwalker_v9 needs the package 'Box2D', which is not installed. .*: pip install \"pettingzoo\[sisl\]\"$"
    with pytest.raises(ConfigError, match=words):
        PettingZoo.check_args(key="pettingzoo.sisl.multiwalker_v9")


def test_a_game_of_ones_own_is_found_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_parade.py").write_text("from parades.parade_v0 import parallel_env\n")
    for key in ("my_parade", "my_parade.py"):
        PettingZoo.check_args(key=key)
        assert PettingZoo(key=key).n_agents == 3
    monkeypatch.delitem(sys.modules, "my_parade")
    with pytest.raises(
        ConfigError, match=rf"'my_prade', neither installed nor in {tmp_path}. Did you mean 'my_parade'"
    ):
        PettingZoo.check_args(key="my_prade")
    (tmp_path / "lacking.py").write_text("import numpy\nimport no_such_thing.part\n")
    words = "importing 'lacking' failed at line 2: No module named 'no_such_thing'. .* pip install no_such_thing$"
    with pytest.raises(ConfigError, match=words):
        PettingZoo.check_args(key="lacking")
    (tmp_path / "broken.py").write_text("import numpy\n\n1 / 0\n")
    with pytest.raises(ConfigError, match="importing 'broken' failed at line 3: ZeroDivisionError: division by zero"):
        PettingZoo.check_args(key="broken")


def test_an_aec_game_in_which_all_act_at_once_is_played(monkeypatch):
    from mpe2 import simple_spread_v3

    game = ModuleType("turns_v0")
    game.env = simple_spread_v3.env
    monkeypatch.setitem(sys.modules, "turns_v0", game)
    PettingZoo.check_args(key="turns_v0", kwargs={"N": 2})
    ours, theirs = (PettingZoo(key=key, kwargs={"N": 2}, seed=3) for key in ("turns_v0", "mpe2.simple_spread_v3"))
    for env in (ours, theirs):
        env.reset()
    for t in range(25):
        assert ours.step([t % 5, 1]) == theirs.step([t % 5, 1])
        assert ours.get_obs().tolist() == theirs.get_obs().tolist()
