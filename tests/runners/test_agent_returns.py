"""Returns of episodes that are not over: of all, of groups, and of agents with rewards of their own."""

import numpy as np
from numpy.testing import assert_equal

from envs.contract.fields import EnvSpec, FieldSpec
from runners.returns import EpisodeReturns


def returns_of(groups, **rewarded):
    fields = {path.replace("_", "/"): FieldSpec("outcome", (), "float64", group) for path, group in rewarded.items()}
    return EpisodeReturns(EnvSpec(fields, groups, 10), 3)


def test_a_reward_of_the_team_is_the_total_alone():
    returns = returns_of({"agents": 2}, reward=None)
    returns.add({"reward": np.array([1.0, 2.0, 4.0])}, np.array([0, 2]))
    returns.add({"reward": np.array([1.0, 2.0, 4.0])}, np.array([0]))
    assert_equal(returns.totals, [2, 0, 4])
    assert returns.of_groups(np.array([0, 2])) == [{}, {}]


def test_each_agent_that_is_rewarded_has_a_return():
    returns, rewards = returns_of({"agents": 2}, reward="agents"), np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    for rows in ([0, 1], [1]):
        returns.add({"reward": rewards}, np.array(rows))
    assert_equal(returns.totals, [11, 44, 0])
    assert returns.of_groups(np.array([1, 2])) == [
        {"agent_0_return": 4, "agent_1_return": 40, "total_return": 44},
        {"agent_0_return": 0, "agent_1_return": 0, "total_return": 0},
    ]
    saved = {key: value.copy() for key, value in returns.state_dict().items()}
    returns.clear(np.array([1]))
    assert returns.of_groups(np.array([1]))[0]["agent_1_return"] == 0 and returns.totals[1] == 0
    returns.load_state_dict(saved)
    assert returns.of_groups(np.array([1]))[0]["agent_1_return"] == 40


def test_groups_have_returns_beside_their_agents():
    returns = returns_of({"red": 2, "blue": 1}, red_reward="red", blue_reward=None)
    returns.add({"red/reward": np.array([[1.0, 2.0]] * 3), "blue/reward": np.array([5.0] * 3)}, np.array([1]))
    assert returns.of_groups(np.array([1])) == [
        {"red/agent_0_return": 1, "red/agent_1_return": 2, "red/return": 3, "blue/return": 5}
    ]
    assert_equal(returns.totals, [0, 8, 0])


def test_checkpoints_without_returns_of_agents_are_read():
    returns = returns_of({"red": 2}, red_reward="red")
    returns.load_state_dict({"totals": np.array([1.0, 2.0, 3.0]), "red/reward": np.array([1.0, 2.0, 3.0])})
    assert_equal(returns.totals, [1, 2, 3])
    assert returns.of_groups(np.array([0]))[0]["red/return"] == 0
