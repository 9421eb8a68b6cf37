"""Noise on actions: its law, its bounds, and when it starts again."""

import numpy as np
import pytest
import torch as th

from components.noise import ActionNoise
from helpers import make_args

FRESH, PLAYING = th.zeros(1, 2, 1), th.ones(1, 2, 1)


def make_noise(kind, **changes):
    return ActionNoise(make_args(**{"noise": kind, "noise_scale": 0.1, **changes}), 3, 2, 4)


def test_gaussian_noise_has_its_deviation_and_keeps_to_the_bounds():
    th.manual_seed(0)
    noise = make_noise("gaussian", noise_scale=0.2)
    units = th.full((5000, 2, 4), 0.1)
    found = noise.added(units, slice(None), th.zeros(5000, 2, 1), 0) - 0.1
    assert float(found.mean()) == pytest.approx(0, abs=0.01)
    assert float(found.std()) == pytest.approx(0.2, abs=0.01)
    wide = make_noise("gaussian", noise_scale=5.0).added(units, slice(None), FRESH, 0)
    assert (wide.min(), wide.max()) == (-1, 1)


def test_the_process_of_ornstein_and_uhlenbeck_by_hand():
    """x <- (1 - theta) x + sigma N: from 0, with the numbers that torch draws."""
    noise = make_noise("ou", noise_scale=0.3, noise_theta=0.25)
    th.manual_seed(1)
    normal = [th.randn(1, 2, 4) for _ in range(3)]
    expected = [0.3 * normal[0]]
    for drawn in normal[1:]:
        expected.append(0.75 * expected[-1] + 0.3 * drawn)
    th.manual_seed(1)
    for number, x in enumerate(expected):
        found = noise.added(th.zeros(1, 2, 4), [1], FRESH if number == 0 else PLAYING, 0)
        th.testing.assert_close(found, x.clamp(-1, 1))


def test_its_deviation_is_that_of_the_stationary_process():
    th.manual_seed(0)
    noise = ActionNoise(make_args(noise="ou", noise_scale=0.1, noise_theta=0.15), 400, 2, 4)
    playing = th.ones(400, 2, 1)
    for _ in range(100):
        found = noise.added(th.zeros(400, 2, 4), slice(None), playing, 0)
    assert float(found.std()) == pytest.approx(0.1 / np.sqrt(1 - 0.85**2), rel=0.05)


@pytest.mark.parametrize("resets", [True, False])
def test_it_starts_again_with_an_episode_if_it_shall(resets):
    noise = make_noise("ou", noise_scale=0.0, noise_reset=resets)
    noise.load_state_dict({"process": th.full((3, 2, 4), 0.5)})
    found = noise.added(th.zeros(1, 2, 4), [2], FRESH, 0)
    th.testing.assert_close(found, th.full((1, 2, 4), 0.0 if resets else 0.425))
    # of the other environments, nothing
    assert (noise.state_dict()["process"][:2] == 0.5).all()


def test_epsilon_is_the_share_of_random_actions():
    th.manual_seed(0)
    noise = make_noise("epsilon", noise_scale=[[0, 1.0], [100, 0.2]])
    units = th.zeros(4000, 2, 4)
    assert noise.at_random(units, 0).all()
    assert float(noise.at_random(units, 1000).float().mean()) == pytest.approx(0.2, abs=0.02)
    assert th.equal(noise.added(units, slice(None), FRESH, 0), units)
    assert not make_noise("gaussian").at_random(units, 0).any()


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_digideeps_ornstein_and_uhlenbeck(seed):
    """dx = theta (mu - x) + sigma N(0, 1), a <- a + x lim: over the ends of episodes and the bounds of actions."""
    rng, lim = np.random.default_rng(seed), 2.0
    actions, mu, theta, sigma = rng.uniform(-lim, lim, (30, 3, 4)), 0.3 * seed, 0.15, 0.4
    changes = {"noise_scale": sigma, "noise_theta": theta, "noise_mean": mu, "noise_reset": False, "noise_clip": False}
    noise = ActionNoise(make_args(noise="ou", **changes), 3, 1, 4)
    th.manual_seed(seed)
    x, expected = np.full((3, 4), mu), []
    for action in actions:
        x = x + theta * (mu - x) + sigma * th.randn(3, 1, 4).squeeze(1).double().numpy()
        expected.append(action + x * lim)
    th.manual_seed(seed)
    units = th.tensor(actions / lim, dtype=th.float32).unsqueeze(2)
    found = [noise.added(x, slice(None), th.full((3, 1, 1), float(t % 10 > 0)), 0) for t, x in enumerate(units)]
    np.testing.assert_allclose(lim * th.stack(found).squeeze(2).double(), np.stack(expected), atol=1e-5)
    assert (np.abs(expected) > lim).any()


def test_its_state_is_saved():
    noise, other = make_noise("ou"), make_noise("ou")
    noise.added(th.zeros(1, 2, 4), [1], FRESH, 0)
    other.load_state_dict(noise.state_dict())
    assert th.equal(other.state_dict()["process"], noise.state_dict()["process"])
    assert noise.state_dict()["process"].any()


@pytest.mark.parametrize(("numbers", "kind"), [(4, "gaussian"), (0, "none")])
def test_auto_is_gaussian_or_none_where_actions_are_choices(numbers, kind):
    assert ActionNoise(make_args(noise="auto"), 3, 2, numbers).kind == kind
