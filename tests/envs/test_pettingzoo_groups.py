"""PettingZoo's environments with groups, continuous actions and rewards by agent."""

import numpy as np
import pytest
from gymnasium import spaces

from envs import REGISTRY
from envs.contract.declarations import spec_of
from envs.contract.fields import FieldSpec
from envs.pettingzoo.declared import PettingZooGroups, grouped
from envs.pettingzoo.team import PettingZooEnv
from parades import Parade, install
from utils.errors import ConfigError

TAG = "mpe2.simple_tag_v3"
HUNT = {"predators": ["adversary_0", "adversary_1", "adversary_2"], "prey": ["agent_0"]}


@pytest.fixture(autouse=True)
def parade_module(monkeypatch):
    install(monkeypatch, Band)


class Band(Parade):
    """The same parade, in which "a" and "b" are drummers that are alike and "c" is a flute with continuous actions."""

    def observation_space(self, agent):
        return spaces.Box(-9, 9, (1,), np.float64) if agent == "c" else spaces.Box(0, 99, (2,), np.int64)

    def action_space(self, agent):
        return spaces.Box(-2, 2, (2,)) if agent == "c" else spaces.Discrete(3, start=4)

    def _seen(self, agents):
        masks = {"a": np.array([0, 1, 1]), "b": np.array([1, 0, 1])}
        return (
            {a: np.array([0.5]) if a == "c" else np.array([self.t, ord(a)]) for a in agents},
            {a: {"action_mask": masks[a]} if a in masks else {} for a in agents},
        )


def band(time_limit=10, reward="sum", **kwargs):
    groups = {"flutes": ["c"], "drums": ["b", "a"]}
    env = PettingZooGroups("parades.parade_v0", time_limit, kwargs, reward, groups, seed=5)
    env.reset()
    return env


def play(env):
    return env.step({"flutes/actions": np.array([[1.5, -7.0]], np.float32), "drums/actions": np.array([1, 2])})


def test_predators_and_prey_are_groups_of_their_own():
    spec = spec_of(REGISTRY["mpe"](key=TAG, groups=HUNT))
    assert spec.groups == {"predators": 3, "prey": 1}
    assert spec.fields["predators/obs"] == FieldSpec("observation", (16,), group="predators")
    assert spec.fields["prey/obs"] == FieldSpec("observation", (14,), group="prey")
    assert spec.fields["prey/actions"] == FieldSpec("action", (), "int64", "prey", n=5)
    assert spec.fields["prey/avail_actions"] == FieldSpec("mask", (5,), "uint8", "prey", of="prey/actions")
    assert spec.fields["predators/reward"] == FieldSpec("outcome", (), "float64", None)
    assert spec.fields["state"] == FieldSpec("observation", (62,), group=None)
    assert spec.rewards() == ["predators/reward", "prey/reward"]


def test_the_course_is_the_environments_own():
    from mpe2 import simple_tag_v3

    ours, theirs = REGISTRY["mpe"](key=TAG, groups=HUNT, reward="each", seed=3), simple_tag_v3.parallel_env()
    ours.reset()
    obs, _ = theirs.reset(seed=3)
    rng = np.random.default_rng(0)
    for t in range(25):
        for path, agents in [("predators/obs", HUNT["predators"]), ("prey/obs", HUNT["prey"])]:
            assert ours.observe()[path].tolist() == [obs[agent].tolist() for agent in agents]
        assert ours.observe()["state"].tolist() == theirs.state().tolist()
        chosen = rng.integers(5, size=4)
        obs, rewards, *_ = theirs.step(dict(zip([*HUNT["predators"], *HUNT["prey"]], chosen.tolist(), strict=True)))
        outcomes, *ends, _ = ours.step({"predators/actions": chosen[:3], "prey/actions": chosen[3:]})
        assert outcomes["predators/reward"].tolist() == [rewards[agent] for agent in HUNT["predators"]]
        assert outcomes["prey/reward"].tolist() == [rewards["agent_0"]]
        assert ends == [False, t == 24]
    assert ours.observe()["prey/present"].all(), "values continue after a cut"


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (None, {"agents": ["lead_0", "wolf_0", "wolf_1", "sheep"]}),
        ("auto", {"lead": ["lead_0"], "wolf": ["wolf_0", "wolf_1"], "sheep": ["sheep"]}),
        (
            {"prey": "sheep", "pack": ["wolf_1", "lead_0", "wolf_0"]},
            {"prey": ["sheep"], "pack": ["lead_0", "wolf_0", "wolf_1"]},
        ),
    ],
)
def test_agents_are_grouped_in_their_order(groups, expected):
    found = grouped(["lead_0", "wolf_0", "wolf_1", "sheep"], groups)
    assert found == expected
    assert list(found) == list(expected)


def test_agents_of_one_kind_are_one_group_without_prefix():
    spec = spec_of(REGISTRY["mpe"](groups="auto"))
    assert spec.groups == {"agents": 3}
    assert {"obs", "actions", "avail_actions", "reward", "present", "agents/terminated"} <= set(spec.fields)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"prey": ["agent_1"]}, "groups.prey: there is no agent 'agent_1'. Did you mean 'agent_0'"),
        ({"prey": "agnt"}, "groups.prey: no agent is called 'agnt' and a number. Did you mean 'agent'"),
        ({"prey": "agent"}, "the agent adversary_0 is in no group"),
        ({"all": ["agent_0"], "prey": "agent"}, "adversary_0 is in no group"),
        ({"a": "adversary", "b": "agent", "c": ["agent_0"]}, "agent_0 is in the groups b and c"),
        ({"a": "adversary", "x/y": "agent"}, "'x/y' cannot be a group's name"),
        ({"prey": []}, r"groups.prey is \[\]; it must be a list"),
        ({}, "it must be null, auto, or a mapping"),
        ("by hand", "groups is by hand; it must be null, auto"),
    ],
)
def test_groups_that_do_not_fit(groups, message):
    with pytest.raises(ConfigError, match=message):
        REGISTRY["mpe"].check_args(key=TAG, groups=groups)


def test_agents_that_do_different_things_are_no_group():
    with pytest.raises(ConfigError, match=r"speaker_0 and listener_0 differ .* env_args.groups=auto.*=pettingzoo"):
        REGISTRY["mpe"](key="mpe2.simple_speaker_listener_v4", kwargs={"continuous_actions": True})
    with pytest.raises(ConfigError, match=r"adversary_0 and agent_0 differ"):
        REGISTRY["mpe"](key=TAG, groups={"all": ["adversary_0", "agent_0"], "rest": ["adversary_1", "adversary_2"]})


@pytest.mark.parametrize("reward", ["sum", "each"])
def test_one_team_of_agents_that_see_different_things_is_padded(reward):
    env = REGISTRY["mpe"](key=TAG, reward=reward, kwargs={"continuous_actions": True})
    assert env.fields()["obs"] == FieldSpec("observation", (16,))
    env.reset()
    env.step({"actions": np.tile(np.float32([0, 0, 1, 0, 1]), (4, 1))})
    seen = env.observe()
    assert seen["obs"][:3].all() and seen["obs"][3, :14].all()
    assert not seen["obs"][3, 14:].any()
    assert seen["state"].shape == (62,), "its own, or all of these"


def test_each_padded_agent_has_its_reward():
    padded = REGISTRY["mpe"](key=TAG, reward="each")
    assert padded.groups == {"agents": 4} and padded.fields()["obs"].shape == (16,), "padded, as PyMARL's"
    with pytest.raises(ConfigError, match="Allowed: each, mean, sum"):
        REGISTRY["mpe"].check_args(key=TAG, reward="ech")


def test_one_choice_each_without_groups_is_pymarls_team():
    assert type(REGISTRY["mpe"](key=TAG)) is PettingZooEnv
    assert type(REGISTRY["mpe"](reward="each")) is PettingZooGroups
    continuous = REGISTRY["mpe"](kwargs={"continuous_actions": True})
    assert continuous.fields()["actions"] == FieldSpec("action", (5,), low=0.0, high=1.0)
    assert "avail_actions" not in continuous.fields()


def test_groups_have_their_own_kinds_of_observations_and_actions():
    env = band()
    fields = env.fields()
    assert fields["drums/obs"] == FieldSpec("observation", (2,), "int64", "drums", low=0.0, high=99.0)
    assert fields["flutes/obs"] == FieldSpec("observation", (1,), group="flutes", low=-9.0, high=9.0)
    assert fields["flutes/actions"] == FieldSpec("action", (2,), group="flutes", low=-2.0, high=2.0)
    assert env.observe()["drums/obs"].tolist() == [[0, ord("a")], [0, ord("b")]]
    assert env.observe()["drums/avail_actions"].tolist() == [[0, 1, 1], [1, 0, 1]]
    assert env.observe()["state"].tolist() == [0.5, 0, ord("a"), 0, ord("b")]
    play(env)
    given = env._env.given[0]
    assert (given["a"], given["b"]) == (5, 6), "counted from the start of the space"
    assert given["c"].tolist() == [1.5, -2.0], "clipped to its bounds"


@pytest.mark.parametrize(
    ("reward", "flutes", "drums"), [("sum", 100, 11), ("mean", 100, 5.5), ("each", [100], [1, 10])]
)
def test_rewards_of_groups(reward, flutes, drums):
    env = band(reward=reward)
    outcomes = play(env)[0]
    assert np.array(outcomes["flutes/reward"]).tolist() == flutes
    assert np.array(outcomes["drums/reward"]).tolist() == drums
    assert env.fields()["drums/reward"].group == ("drums" if reward == "each" else None)


def test_an_agent_that_died():
    env = band(reward="each")
    seen = []
    for _ in range(3):
        outcomes, terminated, truncated, _ = play(env)
        assert not terminated
        assert not truncated
        seen.append((outcomes["drums/terminated"].tolist(), env.observe()["drums/present"].tolist()))
    assert seen == [([False, False], [True, True]), ([False, True], [True, False]), ([False, False], [True, False])]
    assert env.observe()["drums/obs"].tolist() == [[3, ord("a")], [0, 0]]
    assert env.observe()["drums/avail_actions"].tolist() == [[0, 1, 1], [1, 0, 0]]
    assert outcomes["drums/reward"].tolist() == [3, 0]
    assert sorted(env._env.given[2]) == ["a", "c"], "the dead are not passed on"


class Signals(Band):
    """Drummers choose two things at once, with a mask for each."""

    def action_space(self, agent):
        return spaces.Box(-2, 2, (2,)) if agent == "c" else spaces.MultiDiscrete([2, 3])

    def _seen(self, agents):
        obs, infos = super()._seen(agents)
        masks = {a: {"action_mask": ([1, 0], [0, 1, 1])} for a in "ab"}
        return obs, {a: masks.get(a, {}) for a in infos}


def test_branches_have_masks_where_agents_show_some(monkeypatch):
    install(monkeypatch, Signals)
    env = band()
    masks = {path: field.of for path, field in env.fields().items() if field.of}
    assert masks == {"drums/avail/0": "drums/actions/0", "drums/avail/1": "drums/actions/1"}
    assert env.observe()["drums/avail/1"].tolist() == [[0, 1, 1]] * 2
    for _ in range(3):
        env.step({"flutes/actions": np.zeros((1, 2)), **{f"drums/actions/{k}": np.array([0, 0]) for k in (0, 1)}})
    assert env.observe()["drums/avail/1"].tolist() == [[0, 1, 1], [1, 0, 0]], "the dead can do nothing"


@pytest.mark.parametrize(
    ("end", "limit", "ends", "of_agents", "present"),
    [
        ("terminate", 10, (True, False), ([True, False], [False, False]), [False, False]),
        ("truncate", 10, (False, True), ([False, False], [True, False]), [True, False]),
        ("terminate", 3, (False, True), ([False, False], [False, False]), [True, False]),
    ],
)
def test_ends_of_agents_and_of_the_episode(end, limit, ends, of_agents, present):
    env = band(time_limit=limit, end=end)
    courses = [play(env) for _ in range(min(limit, 4))]
    assert [course[1:3] for course in courses] == [(False, False)] * (len(courses) - 1) + [ends]
    outcomes = courses[-1][0]
    assert (outcomes["drums/terminated"].tolist(), outcomes["drums/truncated"].tolist()) == of_agents
    assert env.observe()["drums/present"].tolist() == present
