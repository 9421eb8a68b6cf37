"""Vectorised environments of others: what is stored of their steps, whenever their copies restart."""

import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_equal

pytest.importorskip("gymnasium")
from gymnasium import spaces

import vector_standins as standins
from envs import has_batched_form, why_together
from envs.contract.legal_actions import LegalActions
from envs.contract.validation import InvalidEnvironmentError
from envs.gymnasium.form import Gymnasium, batch
from envs.gymnasium.vector_values import VectorValues
from helpers import check_chosen_parts
from small_training import assembled, small_config, train
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions
from vector_envs.batched import BatchedCopies
from watched_training import assert_learnt

FILE = standins.__file__
LIMIT = standins.LIMIT
FUNCTIONS = ("synchronous", "same_step")
# those whose copies may begin an episode while others play
RESTARTING = ("Next", "Disabled", *FUNCTIONS)
EVERY = ("Same", *RESTARTING)


def with_masks(names):
    """Each of them, and the classes with masks of legal actions, too."""
    return [(name, False) for name in names] + [(name, True) for name in names if name not in FUNCTIONS]


def key_of(name):
    return f"{FILE}:{name}"


def args_of(name, **more):
    vectorised = {"vectorised": True} if name in FUNCTIONS else {}
    return {"key": key_of(name), "time_limit": LIMIT, **vectorised, **more}


def made(name, copies=3, **more):
    return batch(copies, seed=[*range(copies)], **args_of(name, **more))


def require_played(seen, action, reward, terminated, truncated, after):
    """A stored transition is one that the copy made: nothing that was a reset, and nothing of two episodes."""
    copy, episode, step = seen[:3].astype(int)
    assert after.tolist() == [copy, episode, step + 1, action], "the same episode, one step later"
    assert reward == standins.reward_of(copy, episode, step + 1, action)
    over = step + 1 == standins.length_of(copy, episode)
    ends = standins.ends_of(copy, episode) if over else (False, False)
    assert (bool(terminated), bool(truncated)) == (ends[0], ends[1] and not ends[0])


def transitions_of(run, by_row):
    """Check all stored transitions of a batch; returns the copy (or the row), the episode and the step of each."""
    mask = valid_transitions(run).squeeze(2).bool().numpy()
    obs, actions = run["obs"][:, :, 0].numpy(), run["actions"][:, :, 0, 0].numpy()
    ends = [run[end].squeeze(2).numpy() for end in ("terminated", "truncated")]
    rewards, kept = run["reward"].squeeze(2).numpy(), []
    for b, t in np.argwhere(mask):
        row = obs[b, t], actions[b, t], rewards[b, t], ends[0][b, t], ends[1][b, t], obs[b, t + 1]
        require_played(*row)
        copy, episode, step = obs[b, t, :3].astype(int).tolist()
        kept.append((int(b) if by_row else copy, episode, step))
    return kept


def played(tmp_path, algorithm, name, masked=False, calls=4, **changes):
    """The transitions of some rollouts and of a test, all checked."""
    kwargs = {"kwargs": {"masked": True}} if masked else {}
    config = small_config(tmp_path, algorithm, "gymnasium")
    config |= {"env_args": args_of(name, **kwargs), "batch_size_run": 3, "vector_env": "batched"}
    config |= {"batch_size": 3, "buffer_size": 6, "test_nepisode": 2, **changes}
    kept, by_row = [], changes["runner"] == "rollout"  # of two halves, each counts its copies
    with assembled(config) as parts:
        for _ in range(calls):
            kept += transitions_of(parts.runner.run(), by_row)
        assert transitions_of(parts.runner.run(test_mode=True), by_row)
        for _ in range(calls):
            kept += transitions_of(parts.runner.run(), by_row)
    return kept


def episodes_of(transitions):
    """The steps of each episode, by copy and number."""
    found = {}
    for copy, episode, step in transitions:
        found.setdefault((copy, episode), []).append(step)
    return found


@pytest.mark.parametrize(("name", "masked"), with_masks(EVERY))
def test_episodes_that_begin_together_have_every_step_once(tmp_path, name, masked):
    episodes = episodes_of(played(tmp_path, "vdn", name, masked, runner="episodes"))
    assert {copy for copy, _ in episodes} == {0, 1, 2} and len(episodes) == 3 * 8
    for (copy, episode), steps in episodes.items():
        assert steps == [*range(standins.length_of(copy, episode))]


@pytest.mark.parametrize("name", RESTARTING)
def test_copies_that_do_not_wait_have_every_step_once(tmp_path, name):
    episodes = episodes_of(played(tmp_path, "vdn", name, runner="episodes_continuous"))
    assert len(episodes) == 3 * 8
    for (copy, episode), steps in episodes.items():
        assert steps == [*range(standins.length_of(copy, episode))]


@pytest.mark.parametrize("double_buffering", ["off", "on"])
@pytest.mark.parametrize(("name", "masked"), with_masks(RESTARTING))
def test_rollouts_across_ends_have_every_step_once(tmp_path, name, masked, double_buffering):
    words = {"rollout_steps": 7, "double_buffering": double_buffering, "minibatches": 1, "epochs": 1}
    episodes = episodes_of(played(tmp_path, "pqn_vdn", name, masked, runner="rollout", calls=5, **words))
    for steps in episodes.values():
        assert steps == sorted({*steps}), "none twice"
    # an episode lacks steps only where a rollout or the test cut it off
    whole = [len(steps) == standins.length_of(*which) for which, steps in episodes.items()]
    assert sum(whole) > len(whole) / 2


def test_a_copy_that_others_keep_from_its_reset_is_lost_for_one_step():
    """As at the beginning of a rollout, when the last one ended with an episode."""
    copies = BatchedCopies(made("Next"), 3)
    copies.reset()
    act = {"actions": np.zeros((3, 1), np.int64)}
    assert copies.step(act).terminated.tolist() == [True, False, False], "the first episode of copy 0 is one step long"
    copies.reset(np.array([True, False, False]))
    outcome = copies.step(act)
    assert outcome.lost.tolist() == [True, False, False] and outcome.values["reward"][1] > 0
    copies.reset(outcome.lost)
    assert copies.observed()["obs"][0, 0].tolist() == [0, 1, 0, 0]
    assert not copies.step(act).lost.any()
    assert copies.observed()["obs"][0, 0].tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("name", EVERY)
def test_what_a_copy_shows_at_its_end_stays_until_it_is_reset(name):
    env = made(name)
    env.reset()
    act = {"actions": np.zeros((3, 1), np.int64)}
    _, terminated, truncated = env.step(act)
    assert (terminated | truncated).tolist() == [True, False, False]
    for _ in range(2):
        assert env.observed()["obs"][0, 0].tolist() == env.observed()["state"][0].tolist() == [0, 0, 1, 0]
        env.step(act)
    if name not in FUNCTIONS:
        assert env.info(0) == {"moment": 1}


def test_copies_that_restart_in_the_same_step_begin_together():
    env = made("Same")
    env.reset()
    env.step({"actions": np.zeros((3, 1), np.int64)})
    env.step({"actions": np.zeros((3, 1), np.int64)})
    with pytest.raises(InvalidEnvironmentError, match=r"copy 0 cannot be reset while .*SAME_STEP.*together"):
        env.reset(np.array([True, False, False]))
    assert "SAME_STEP" in why_together("gymnasium", args_of("Same"))
    assert not any(why_together("gymnasium", args_of(name)) for name in RESTARTING)
    config = small_config("", "pqn_vdn", "gymnasium", batch_size_run=3, vector_env="batched", minibatches=1)
    with pytest.raises(ConfigError, match=r"runner=rollout: .*SAME_STEP.*runner=episodes"):
        check_chosen_parts(config | {"env_args": args_of("Same")})
    check_chosen_parts(config | {"env_args": args_of("Next")})
    check_chosen_parts(config | {"env_args": args_of("Same"), "vector_env": "in_process"})
    config = small_config("", "vdn", "gymnasium", batch_size_run=3, vector_env="batched")
    check_chosen_parts(config | {"runner": "episodes", "env_args": args_of("Same")})


def test_a_limit_that_the_environment_does_not_have_truncates():
    assert "longer than env_args.time_limit=2" in why_together("gymnasium", args_of("Long", time_limit=2))
    for name in ("Long", "Disabled", "Next"):
        env = made(name, time_limit=2)
        env.reset()
        act = {"actions": np.zeros((3, 1), np.int64)}
        env.step(act)
        _, terminated, truncated = env.step(act)
        assert (terminated | truncated).all() and truncated[1:].all()
    env.reset(np.array([True, False, False]))  # which ended by itself before
    env.step(act)
    with pytest.raises(InvalidEnvironmentError, match=r"copy 2 .*did not end by itself within env_args.time_limit=2"):
        env.reset(np.array([False, False, True]))
    assert not any(why_together("gymnasium", args_of(name, time_limit=2)) for name in ("Disabled", "Next"))


def test_one_copy_is_played_by_any_runner():
    for name in EVERY:
        one = Gymnasium(**args_of(name), seed=3)
        for _ in range(2):
            one.reset()
            assert one.observe()["obs"][0, 2] == 0
            values, *_ = one.step({"actions": np.array([1])})
            assert one.observe()["obs"][0, 2:].tolist() == [1, 1] and values["reward"] % 10 == 2
            one.reset()
        one.close()


@pytest.mark.parametrize("actions", [spaces.Discrete(5), spaces.MultiDiscrete([3, 2])])
def test_masks_in_one_array_are_read_as_one_by_one(monkeypatch, actions):
    """Of many copies, one by one takes fifty times as long."""
    env = SimpleNamespace(single_action_space=actions, single_observation_space=spaces.Box(-1, 1, (2,)), unwrapped=None)
    obs, steps, terminated = np.zeros((4, 2), np.float32), np.ones(4, int), np.array([False, False, True, False])
    masks = np.array([[1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0] * 5, [1] * 5], np.int8)

    def read(masks, rows=(0, 2, 3), by_loop=False):
        values = VectorValues("standin", env, None, None, None)
        values.note_first({"action_mask": masks[0]})
        if by_loop:
            values._valid_masks = lambda *arguments: None
        return values.of(obs, {"action_mask": masks}, np.array(rows), steps, terminated)

    expected = read(masks, by_loop=True)
    assert_equal(read(masks.astype(float)), expected)
    illegal = masks.copy()
    illegal[3] = 0
    with pytest.raises(InvalidEnvironmentError, match=r"copy 3, in step 1: .* marks no action as legal"):
        read(illegal)
    monkeypatch.setattr(LegalActions, "read", lambda *arguments: pytest.fail("one by one"))
    assert_equal(read(masks), expected)


def test_seeds_are_given_as_the_environment_takes_them():
    env = made("Next")
    env.reset()
    env.reset()
    assert env._env.seeds == [0, None], "the first one, once"
    assert made("synchronous")._form.seeds == [0, 1, 2]


def test_cartpoles_own_copies_are_saved():
    words = {"key": "CartPole-v1", "vectorised": True, "time_limit": 9}
    env, other = (batch(4, seed=[*range(first, first + 4)], **words) for first in (0, 50))
    act = {"actions": np.ones((4, 1), np.int64)}

    def after(env):
        shown = []
        for _ in range(12):
            before = env._over.copy()
            env.step(act)
            env.reset(before) if before.any() else None
            shown.append(env.observed()["obs"].copy())
        return np.stack(shown)

    env.reset()
    after(env)
    saved = env.state_dict()
    expected = after(env)
    other.reset()
    other.load_state_dict(saved)
    np.testing.assert_array_equal(after(other), expected)
    with pytest.raises(NotImplementedError):
        made("synchronous").state_dict()


def test_a_form_whose_package_is_missing_names_it(monkeypatch):
    import gymnasium

    spec = gymnasium.envs.registration.EnvSpec("Absent-v0", vector_entry_point="no_such_package.games:Copies")
    monkeypatch.setitem(gymnasium.registry, "Absent-v0", spec)
    with pytest.raises(ConfigError, match=r"needs the package 'no_such_package'.*pip install no_such_package"):
        Gymnasium.check_args(key="Absent-v0", vectorised=True)


@pytest.mark.parametrize(
    ("env_args", "message"),
    [
        ({"key": "FrozenLake-v1", "vectorised": True}, "has no vectorised form .*CartPole-v1.*vectorised=False"),
        ({"key": key_of("Unsaid"), "time_limit": 5}, r"metadata\['autoreset_mode'\] is None.*NEXT_STEP, SAME_STEP"),
        ({"key": key_of("Next")}, "env_args.time_limit: .* sets no limit"),
        ({"key": key_of("Next"), "time_limit": 5, "kwargs": {"maskd": 1}}, "takes no 'maskd'.*masked"),
        ({"key": key_of("Next"), "time_limit": 5, "kwargs": {"num_envs": 1}}, "set batch_size_run instead"),
        ({"key": key_of("Next"), "time_limit": 5, "wrappers": ["FlattenObservation"]}, "is many copies at once"),
        ({"key": "envpool:CartPole-v1"}, "needs the package 'envpool'.*pip install envpool"),
        ({"vectorised": 3}, "env_args.vectorised is 3; it must be True or False"),
    ],
)
def test_bad_arguments_are_refused_with_words(monkeypatch, env_args, message):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(ConfigError, match=message):
        Gymnasium.check_args(**env_args)


class Pool(standins.Next):
    """EnvPool's form, which says neither when it restarts nor its limit as others do."""

    metadata: ClassVar = {}

    def __init__(self, name, env_type, num_envs, seed=None, max_episode_steps=LIMIT):
        super().__init__(num_envs)
        self.made_of, self.config = (name, env_type, seed), {"max_episode_steps": max_episode_steps}


def test_envpools_ids(monkeypatch):
    package = SimpleNamespace(list_all_envs=lambda: ["Count-v1"], make=lambda name, **words: Pool(name, **words))
    monkeypatch.setitem(sys.modules, "envpool", package)
    assert has_batched_form("gymnasium", {"key": "envpool:Count-v1"})
    env = batch(3, "envpool:Count-v1", seed=[4, 5, 6], time_limit=5)
    assert env._env.made_of == ("Count-v1", "gymnasium", [4, 5, 6]) and env.episode_limit == 5
    env.reset()
    with pytest.raises(ConfigError, match=r"EnvPool has no environment 'Cuont-v1'.*Count-v1"):
        batch(3, "envpool:Cuont-v1")


@pytest.mark.parametrize(
    ("algorithm", "words"), [("vdn", {"runner": "episodes"}), ("ppo", {"runner": "rollout", "rollout_steps": 5})]
)
def test_a_run_learns_from_it(tmp_path, monkeypatch, algorithm, words):
    env_args = args_of("Next")
    changes = {"batch_size_run": 3, "env_args": env_args, **words}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "gymnasium", **changes), 2)
