"""Continuous actions with two bounds, with one, or without any."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from envs.contract.fields import EnvSpec, FieldSpec
from modules.policies.policy import Policy
from utils.errors import ConfigError

INF = np.inf
ARGS = {"deviation": "parameter", "first_deviation": 1.0, "share_params": True}
ARGS |= {"density_epsilon": 0.0, "bernoulli": False, "log_std": "clip", "log_std_least": -20.0, "log_std_largest": 2.0}


def policy(low, high, squash="clip", numbers=4, **changes):
    scheme = {"actions": {"vshape": (numbers,), "kind": "action", "low": low, "high": high}}
    return Policy(scheme, SimpleNamespace(**{**ARGS, "squash": squash, **changes}))


def test_numbers_without_two_bounds_are_in_their_own_units():
    centre, scale = policy((-2.0, 3.0, -INF, -INF), (6.0, INF, -1.0, INF)).limits("actions")
    assert centre.tolist() == [2.0, 3.0, -1.0, 0.0]  # the last ones: 0, or the bound nearest to it
    assert scale.tolist() == [4.0, 1.0, 1.0, 1.0]
    for low, high, middle in ((0.0, None, 0.0), (None, -5.0, -5.0), (None, None, 0.0)):
        assert [x.tolist() for x in policy(low, high).limits("actions")] == [[middle] * 4, [1.0] * 4]


def test_densities_are_those_before_clipping():
    of = policy((-2.0, 3.0, -INF, -INF), (6.0, INF, -1.0, INF)).of(th.zeros(4), {})
    own = th.distributions.Normal(th.tensor([2.0, 3.0, -1.0, 0.0]), th.tensor([4.0, 1.0, 1.0, 1.0]))
    action = th.tensor([7.0, 2.5, -0.5, 9.0])
    th.testing.assert_close(of.log_prob({"actions": action}), own.log_prob(action).sum())


@pytest.mark.parametrize(
    ("low", "high", "lacking"),
    [
        ((0.0, 0.0, 0.0, 0.0), (1.0, 1.0, INF, INF), "number 2 of the action 'actions' has no upper bound"),
        ((0.0, -INF, 0.0, 0.0), 1.0, "number 1 of the action 'actions' has no lower bound"),
        ((0.0, -INF, 0.0, 0.0), (1.0, INF, 1.0, 1.0), "number 1 of the action 'actions' has no bounds"),
        (0.0, None, "number 0 of the action 'actions' has no upper bound"),
        (None, None, "the action 'actions' has no bounds"),
    ],
)
def test_squashing_needs_both_bounds(low, high, lacking):
    with pytest.raises(ConfigError, match=f"^squash=tanh: {lacking}. Use squash=clip.$"):
        policy(low, high, "tanh")


@pytest.mark.parametrize(
    ("low", "high", "clipped"),
    [
        ((0.0, -INF, -1.0), (INF, INF, 1.0), [[0.0, 9.0, 1.0], [9.0, -9.0, -1.0]]),
        (2.0, None, [[2.0, 9.0, 9.0], [9.0, 2.0, 2.0]]),
        (None, 3.0, [[-9.0, 3.0, 3.0], [3.0, -9.0, -9.0]]),
        (None, None, [[-9.0, 9.0, 9.0], [9.0, -9.0, -9.0]]),
    ],
)
def test_actions_are_clipped_at_the_bounds_there_are(low, high, clipped):
    spec = EnvSpec({"actions": FieldSpec("action", (3,), low=low, high=high)}, {"agents": 2}, 5, declared=True)
    drawn = np.array([[[-9, 9, 9], [9, -9, -9]]], np.float32)
    assert spec.actions_of({"actions": drawn})["actions"].tolist() == [clipped]


LOG_STDS = {"deviation": "network", "log_std": "tanh", "log_std_least": -5.0, "log_std_largest": 2.0}


def test_deviations_are_mapped_by_tanh():
    """As CleanRL's SAC maps them: log_std = -5 + 7 / 2 (tanh(x) + 1)."""
    of = policy(-1.0, 1.0, "tanh", first_deviation=np.exp(-1.5), **LOG_STDS)
    x = np.array([-100.0, -0.5, 0.0, 100.0])
    (branch,) = of.of(th.cat([th.zeros(4), th.tensor(x, dtype=th.float32)]), {}).branches.values()
    np.testing.assert_allclose(branch.log_std, -5 + 3.5 * (np.tanh(x) + 1), atol=1e-6)


@pytest.mark.parametrize("form", ["clip", "tanh"])
def test_the_first_deviation_is_that_of_an_output_of_0(form):
    of = policy(-1.0, 1.0, "tanh", first_deviation=0.5, **{**LOG_STDS, "log_std": form})
    (branch,) = of.of(th.zeros(8), {}).branches.values()
    np.testing.assert_allclose(branch.log_std.exp(), np.full(4, 0.5), rtol=1e-6)


def test_clipped_deviations_keep_to_the_limits():
    of = policy(-1.0, 1.0, "tanh", **{**LOG_STDS, "log_std": "clip"})
    (branch,) = of.of(th.cat([th.zeros(4), th.tensor([-9.0, -4.0, 1.0, 9.0])]), {}).branches.values()
    assert branch.log_std.tolist() == [-5.0, -4.0, 1.0, 2.0]


def test_a_first_deviation_beyond_what_tanh_reaches_is_refused():
    with pytest.raises(
        ConfigError, match=r"^first_deviation=0.001: with log_std=tanh it must lie between 0.006738 and"
    ):
        policy(-1.0, 1.0, "tanh", first_deviation=0.001, **LOG_STDS)
