"""Linesight's n-step rule, mini-races and potentials against its rules in plain loops."""

from collections import Counter
from unittest import mock

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from components.sampling.compose import Compose, TransformContext
from components.sampling.fields import with_more
from components.sampling.listed import listed_transforms
from components.sampling.mini_races import race_times
from helpers import make_args, random_batch
from utils.errors import ConfigError

SEEDS = st.integers(0, 2**32 - 1)


def chain(*transforms, gamma=0.9, debug=False):
    info = TransformContext("sample_transforms", make_args(gamma=gamma))
    return Compose(listed_transforms("sample_transforms", transforms, "columns", ("columns",)), info, debug=debug)


def race(steps, greedy, finished, length):
    """A race of `steps` actions, as the windows of `length` time steps from each of its steps on, an entry each."""
    episode = random_batch([steps], steps + 1, "terminated" if finished else "truncated", seed=steps)
    episode = with_more(episode, {"action_was_greedy": th.tensor([*greedy, 0]).view(1, -1, 1, 1).expand(-1, -1, 2, -1)})
    rows = []
    for i in range(steps):
        row = {}
        for key, x in episode.data.transition_data.items():
            piece = x[:, i : i + length]
            row[key] = th.cat([piece, th.zeros_like(x[:, :1]).expand(-1, length - piece.size(1), *x.shape[2:])], dim=1)
        rows.append(row)
    data = {key: th.cat([row[key] for row in rows]) for key in rows[0]}
    batch = random_batch([1] * steps, length)
    return with_more(batch, data), episode


def linesights_n(frames, i, greedy, n_max):
    """Section 2.4 of its facts: F frames, the finish included."""
    n = min(n_max, frames - 1 - i)
    for k in range(1, n):
        if not greedy[i + k]:
            return k
    return n


def test_the_lengths_that_were_measured():
    """F = 8, greedy = T T F T T T F T -> n = 2 1 3 3 2 1 1."""
    greedy = [1, 1, 0, 1, 1, 1, 0]
    batch, _ = race(7, greedy, True, 4)
    found = chain({"n_step": {"steps": 3, "greedy_only": True}})(batch)
    assert found["n_steps"].tolist() == [2, 1, 3, 3, 2, 1, 1]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 9), st.integers(1, 5), st.booleans(), st.booleans(), SEEDS)
def test_n_step_is_linesights_rule(steps, n_max, finished, greedy_only, seed):
    greedy = np.random.default_rng(seed).integers(2, size=steps).tolist()
    batch, episode = race(steps, greedy, finished, n_max + 1)
    found = chain({"n_step": {"steps": n_max, "greedy_only": greedy_only}})(batch)
    frames = steps + 1
    for i in range(steps):
        n = linesights_n(frames, i, greedy if greedy_only else [1] * steps, n_max)
        assert int(found["n_steps"][i]) == n
        total = 0.0
        for j in range(n):
            total += 0.9**j * float(episode["reward"][0, i + j])
            assert float(found["rewards"][i, j]) == pytest.approx(total, abs=1e-5)
            assert float(found["gammas"][i, j]) == pytest.approx(0.9 ** (j + 1))
        assert float(found["reward"][i, 0]) == pytest.approx(total, abs=1e-5)
        assert float(found["discount"][i]) == pytest.approx(0.9**n)
        for key in ("terminated", "truncated"):
            assert found[key][i, 0] == episode[key][0, i + n - 1]
        assert th.equal(found["actions"][i, 0], episode["actions"][0, i])
        assert th.equal(found["obs"][i, 0], episode["obs"][0, i])
        to_end = frames - 1 - i
        # beyond the window, an end is as far as none
        known = finished and to_end <= n_max
        assert float(found["terminal_actions"][i]) == (to_end if known else np.inf)
        assert th.equal(found["obs"][i, 1], episode["obs"][0, i + n])


@pytest.mark.parametrize(("horizon", "early", "late"), [(20, 40, 5), (30, 40, 5), (1, 1, 0)])
def test_times_beyond_the_horizon_are_refused(horizon, early, late):
    batch, _ = race(7, [1] * 7, False, 4)
    options = {"horizon": horizon, "early": early, "late": late}
    most = horizon + 2 * late - 1
    with pytest.raises(ConfigError, match=f"beyond the horizon of {horizon}. Use at most early={most}"):
        chain({"n_step": {}}, {"mini_race": options})(batch)
    assert race_times(1000, horizon, most, late).max() < horizon
    assert chain({"n_step": {}}, {"mini_race": options | {"early": most}})(batch)


def test_checks_between_units_allow_for_ends_that_are_infinitely_far():
    batch, _ = race(7, [1] * 7, False, 4)
    found = chain({"n_step": {"steps": 3}}, {"mini_race": {"horizon": 5, "early": 0}}, debug=True)(batch)
    assert found["terminal_actions"].isinf().all()
    found["terminal_actions"][2] = th.nan
    assert found.first_non_finite() == "terminal_actions[] of episode 2 of the batch is nan (1 such values)"


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 8), st.booleans(), SEEDS)
def test_mini_races_are_linesights_rule(steps, n_max, horizon, finished, seed):
    rng = np.random.default_rng(seed)
    greedy = rng.integers(2, size=steps).tolist()
    batch, episode = race(steps, greedy, finished, n_max + 1)
    times = rng.integers(horizon, size=steps)
    transforms = (
        {"n_step": {"steps": n_max, "greedy_only": True}},
        {"mini_race": {"horizon": horizon, "field": "obs", "index": 2, "per_step": 0.5}},
    )
    with mock.patch("components.sampling.mini_races.race_times", return_value=times):
        found = chain(*transforms)(batch)
    frames = steps + 1
    for i in range(steps):
        n, t = linesights_n(frames, i, greedy, n_max), int(times[i])
        after = t + n
        shortened = n - max(0, after - horizon)
        terminal_actions = frames - 1 - i if finished else np.inf
        over = shortened >= terminal_actions or after >= horizon
        reward = sum(0.9**j * float(episode["reward"][0, i + j]) for j in range(shortened))
        assert shortened >= 1
        assert float(found["reward"][i, 0]) == pytest.approx(reward, abs=1e-5)
        assert bool(found["terminated"][i, 0]) == over
        assert float(found["discount"][i]) == pytest.approx(0.9**shortened)
        assert found["obs"][i, :, :, 2].tolist() == [[0.5 * t] * 2, [0.5 * after] * 2]
        assert th.equal(found["obs"][i, 0, :, :2], episode["obs"][0, i, :, :2])
        assert int(found["mini_race_time"][i]) == t


def test_times_have_the_measured_probabilities():
    np.random.seed(0)
    counts = Counter(race_times(2_000_000, 140, 40, 5).tolist())
    share = {t: count * 180 / 2_000_000 for t, count in counts.items()}
    assert set(share) == set(range(140))
    assert share[0] == pytest.approx(11, abs=0.1)
    assert [share[t] for t in range(1, 31)] == pytest.approx([2] * 30, abs=0.1)
    assert [share[t] for t in range(31, 140)] == pytest.approx([1] * 109, abs=0.1)


@pytest.mark.parametrize("by_agent", [False, True])
@pytest.mark.parametrize("with_steps", [False, True])
def test_potentials_are_added_until_the_end(with_steps, by_agent):
    """Those of agents add up to their team's."""
    batch, _ = race(3, [1, 1, 1], True, 3)
    potentials = th.tensor([1.0, 2.0, 4.0, 8.0])
    phi = th.stack([th.nn.functional.pad(potentials, (0, 3))[i : i + 3] for i in range(3)]).unsqueeze(2)
    if by_agent:
        phi = th.stack([0.75 * phi, 0.25 * phi], dim=2)
    batch = with_more(batch, {"state_potential": phi})
    steps = 2 if with_steps else 1
    plain = chain({"n_step": {"steps": steps}})(batch)["reward"][:, 0, 0]
    found = chain({"n_step": {"steps": steps}}, "potential_shaping")(batch)["reward"][:, 0, 0]
    gamma = 0.9**steps
    # the last origins reach the finish, which has no potential
    expected = [gamma * 4 - 1, -2.0, -4.0] if with_steps else [gamma * 2 - 1, gamma * 4 - 2, -4.0]
    assert (found - plain).tolist() == pytest.approx(expected, abs=1e-5)


def test_a_potential_may_be_missing():
    batch, _ = race(3, [1, 1, 1], True, 3)
    found = chain("n_step", {"potential_shaping": {"optional": True}})(batch)
    assert th.equal(found["reward"], chain("n_step")(batch)["reward"])


@pytest.mark.parametrize(("field", "shown"), [("pixels|obs", "pixels"), ("nothing|obs", "obs"), ("obs|pixels", "obs")])
def test_the_first_field_that_there_is_shows_the_time(field, shown):
    batch, _ = race(3, [1, 1, 1], True, 3)
    batch = with_more(batch, {"pixels": th.full((3, 3, 2, 4), -1.0)})
    found = chain("n_step", {"mini_race": {"horizon": 9, "early": 9, "field": field}})(batch)
    for key in ("pixels", "obs"):
        times = found["mini_race_time"].view(-1, 1).float().expand(-1, 2)
        assert th.equal(found[key][:, 0, :, 0], times) == (key == shown)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field": "pixels"}, "mini_race.field is pixels, which has no floats to write the time into"),
        ({"field": "obz"}, r"mini_race.field is obz, which the batch does not have\. Agents see obs"),
        ({"field": "obs", "index": 5}, "mini_race.index is 5; obs has 5 numbers"),
    ],
)
def test_the_time_needs_a_place_among_numbers(options, message):
    """Written into a picture, it would replace every pixel."""
    batch, _ = race(3, [1, 1, 1], True, 3)
    batch = with_more(batch, {"pixels": th.zeros(3, 3, 2, 42, 42, 1, dtype=th.uint8)})
    with pytest.raises(ConfigError, match=message):
        chain({"n_step": {"steps": 2}}, {"mini_race": options})(batch)


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        (["potential_shaping"], "potential_shaping needs the field 'state_potential', .* It has obs, "),
        ([{"potential_shaping": {"field": "obs"}}], "potential_shaping.field is obs, which has 5 numbers, not 1"),
    ],
)
def test_a_potential_is_one_number_of_the_batch(transforms, message):
    batch, _ = race(3, [1, 1, 1], True, 3)
    with pytest.raises(ConfigError, match=message):
        chain("n_step", *transforms)(batch)


def test_potentials_of_more_than_two_steps_would_be_those_of_the_first_step_only():
    batch, _ = race(3, [1, 1, 1], True, 3)
    with pytest.raises(ConfigError, match=r"takes two time steps, and there are 3\. Put it behind n_step"):
        chain({"potential_shaping": {"field": "reward"}})(batch)


def test_n_step_needs_to_know_which_actions_were_greedy():
    batch = random_batch([3], 4)
    with pytest.raises(ConfigError, match=r"n_step\.greedy_only needs the field 'action_was_greedy'"):
        chain({"n_step": {"greedy_only": True}})(batch)
