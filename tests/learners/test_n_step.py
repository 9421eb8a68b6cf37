"""n-step returns as learners ask for them, correct and as EPyMARL's: its sums, written out."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from learners.n_step import n_step_targets

GAMMA = 0.5
# rewards 1, 2, 3 and what padding holds; V = 16, 8, 4, 2 of the states; three transitions of four steps
REWARDS, VALUES = [1.0, 2.0, 3.0], [16.0, 8.0, 4.0, 2.0]


def targets(length, terminated, **settings):
    """Of an episode with `length` of three steps."""
    field = lambda x: th.tensor(x).view(1, -1, 1)  # noqa: E731
    mask = [float(t < length) for t in range(3)]
    ends = [float(terminated and t == length - 1) for t in range(3)]
    args = SimpleNamespace(gamma=GAMMA, **settings)
    return n_step_targets(field(REWARDS), field(ends), field(mask), field(VALUES), args).flatten().tolist()


@pytest.mark.parametrize(
    ("length", "terminated", "add", "expected"),
    [
        # two steps: 1 + .5 x 2 + .25 V[2];  2 + .5 x 3 + .25 V[3];  3 + .5 V[3]
        (3, False, None, [3.0, 4.0, 4.0]),
        (3, False, True, [3.0, 4.0, 4.0]),
        (3, False, False, [3.0, 3.5, 3.0]),
        # the last step ends the episode: nothing follows, but EPyMARL's value of the last step
        (3, True, None, [3.0, 3.5, 3.0]),
        (3, True, True, [3.0, 4.0, 4.0]),
        (3, True, False, [3.0, 3.5, 3.0]),
        # two of three steps: EPyMARL's returns from the second one on, padding's too, reach the last step
        (2, True, None, [2.0, 2.0, 0.0]),
        (2, True, True, [2.0, 2.5, 1.0]),
        (2, True, False, [2.0, 2.0, 0.0]),
    ],
)
def test_two_steps_by_hand(length, terminated, add, expected):
    assert targets(length, terminated, q_nstep=2, add_value_last_step=add) == expected


def test_an_episode_that_is_cut_off_in_padding_continues_with_its_last_value():
    assert targets(2, False, q_nstep=2, add_value_last_step=None) == [1 + 0.5 * 2 + 0.25 * 4, 2 + 0.5 * 4, 0.0]


def _written_out(rewards, mask, values, n_steps, add):
    """EPyMARL's sum for each step of one row: masked rewards, and the value n steps on if that is a transition."""
    steps = len(rewards)
    found = np.zeros(steps)
    for t in range(steps):
        for k in range(min(n_steps, steps - t)):
            found[t] += GAMMA**k * rewards[t + k] * mask[t + k]
        if t + n_steps < steps:
            found[t] += GAMMA**n_steps * values[t + n_steps] * mask[t + n_steps]
        elif add:
            found[t] += GAMMA ** (steps - t) * values[steps]
    return found


@pytest.mark.parametrize("add", [True, False])
@pytest.mark.parametrize("n_steps", [1, 3, 5, 6, 40])
def test_epymarls_returns_of_agents_with_separate_rewards(n_steps, add):
    rng = np.random.default_rng(n_steps)
    rewards, values = rng.normal(size=(4, 6, 2)), rng.normal(size=(4, 7, 2))
    lengths, terminated = [6, 6, 3, 1], [False, True, True, True]
    mask, ends = np.zeros((4, 6, 1)), np.zeros((4, 6, 1))
    for row, length in enumerate(lengths):
        mask[row, :length], ends[row, length - 1] = 1, terminated[row]
    args = SimpleNamespace(gamma=GAMMA, q_nstep=n_steps, add_value_last_step=add)
    found = n_step_targets(*map(th.tensor, (rewards, ends, mask, values)), args)
    for row in range(4):
        for agent in range(2):
            expected = _written_out(rewards[row, :, agent], mask[row, :, 0], values[row, :, agent], n_steps, add)
            assert found[row, :, agent].numpy() == pytest.approx(expected)
