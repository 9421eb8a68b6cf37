"""Steps by agent, against tables made by hand, and what learners make of them."""

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from components.stream_steps import by_stream, stream_steps
from envs.contract.groups import stream_groups
from small_streams import stream_spec
from utils.rl_utils import td_lambda_returns, terminations, valid_transitions


def steps(text, over=(), filled=None):
    """Of one agent in one environment. A word for each step: what it shows, then how the step ends.

    . silent, a asks, b begins; + its stream terminates, - it is interrupted. The reward of step t is t + 1.
    """
    words = text.split()
    flag = lambda signs: np.array([[[any(c in word for c in signs)] for word in words]])  # noqa: E731
    reward = np.arange(1.0, len(words) + 1).reshape(1, -1, 1)
    ends = np.zeros((1, len(words)), dtype=bool)
    ends[0, list(over)] = True
    known = np.ones((1, len(words)), dtype=bool) if filled is None else np.array([filled], dtype=bool)
    return stream_steps(flag("ab"), flag("b"), reward, flag("+"), flag("-"), ends, known)


def table(found):
    """Each placed step: where from, c for closing; its reward; + or - for the ends. " " is a gap."""
    words = [""] * found.count
    for step, source, closing in zip(found.steps, found.sources, found.closing, strict=True):
        words[step] = f"{'c' if closing else ''}{source}"
    for c in range(found.count):
        reward = found.reward[0, c, 0]
        words[c] += f":{reward:g}" if reward else ""
        words[c] += "+" * int(found.terminated[0, c, 0]) + "-" * int(found.truncated[0, c, 0])
    return words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # who always asks keeps its steps; the last one has no step
        ("b a a a", ["0:1", "1:2", "2:3", "3"]),
        # an end, and a new stream at once: its end gets a step
        ("b a+ b a", ["0:1", "1:2+", "c2", "2:3", "3"]),
        ("b- b a", ["0:1-", "c1", "1:2", "2"]),
        # silence: rewards of all steps until it asks again
        ("b . . a . a", ["0:6", "3:9", "5"]),
        # an end in silence, a start later
        ("b . .+ . b a", ["0:6+", "c3", "4:5", "5"]),
        # one that never asks again has no next step: nothing is learned from its last
        ("b a . .", ["0:1", "1:5"]),
        # an end of a decision of the rollout before
        (". .+ b a", ["2:3", "3"]),
        # a stream that went away without an end: a gap
        ("b a b a", ["0:1", "1:2", "", "2:3", "3"]),
        # a decision is under way since the rollout before, and ends at once
        ("a+ b a", ["0:1+", "c1", "1:2", "2"]),
    ],
)
def test_steps_of_one_agent(text, expected):
    assert table(steps(text)) == expected


def test_the_end_of_an_episode_cuts_its_agents_off():
    # step 2 shows the end; who asks there does not act, and has no reward
    assert table(steps("b a a b a", over=[1])) == ["0:1", "1:2-", "2", "3:4", "4"]
    # silent at the end: no next observation, so nothing to learn from
    assert table(steps("b a . b a", over=[1])) == ["0:1", "1:2", "", "3:4", "4"]
    # it ended by itself in the same step, and would have begun again
    assert table(steps("b a+ b b a", over=[1])) == ["0:1", "1:2+", "c2", "3:4", "4"]


def test_a_step_that_is_not_filled_shows_nobody():
    assert table(steps("a b a", filled=[0, 1, 1])) == ["1:2", "2"]


N, T = 3, 60


def test_returns_are_those_of_streams_played_alone():
    """Random streams: each, known from its own records, has the returns that the rearranged batch gives it."""
    dice = np.random.default_rng(5)
    scheme, groups, preprocess = scheme_of(stream_spec(N, 2))
    make = lambda length: EpisodeBatch(scheme, groups, 1, length, preprocess=preprocess)  # noqa: E731
    batch = make(T)
    data = batch.data.transition_data
    data["filled"][:] = 1
    streams = []  # (agent, [(obs, reward)], closing obs or None, terminated)
    for i in range(N):
        stream = None
        for t in range(T):
            asks = dice.random() < 0.6
            if asks:
                if stream is None:
                    stream = (i, [], [])
                    streams.append(stream)
                    data["begins"][0, t, i] = 1
                data["present"][0, t, i] = 1
                data["avail_actions"][0, t, i] = 1
                obs = dice.standard_normal(2).astype(np.float32)
                data["obs"][0, t, i] = th.as_tensor(obs)
                stream[1].append([obs, 0.0])
            if stream is not None and t < T - 1:
                reward = float(dice.integers(5))
                data["reward"][0, t, i] = reward
                stream[1][-1][1] += reward
                if dice.random() < 0.2:
                    end = "terminated" if dice.random() < 0.5 else "truncated"
                    data[f"agents/{end}"][0, t, i] = 1
                    obs = dice.standard_normal(2).astype(np.float32)
                    data["closing"][0, t + 1, i] = th.as_tensor(obs)
                    stream[2].extend([obs, end])
                    stream = None
    found, _ = by_stream(batch, stream_groups(stream_spec(N, 2)), make)
    value = lambda x: x.sum(-1)  # noqa: E731
    mask, ended = valid_transitions(found, by_agent=True), terminations(found, by_agent=True)
    values = value(found["obs"])
    returns = td_lambda_returns(found["reward"][:, :-1].squeeze(3), ended, mask, values[:, 1:], 0.9, 0.8)
    learned = zip(values[:, :-1][mask > 0].tolist(), returns[mask > 0].tolist(), strict=True)
    got = sorted((round(x, 4), round(r, 4)) for x, r in learned)
    wanted = []
    for _, decisions, end in streams:
        seen = [float(obs.sum()) for obs, _ in decisions]
        last = len(decisions) - (0 if end else 1)
        ahead = float(end[0].sum()) if end else seen[-1]
        following, terminal = ahead, bool(end) and end[1] == "terminated"
        for k in reversed(range(last)):
            after = seen[k + 1] if k + 1 < len(seen) else ahead
            alive = not (terminal and k == last - 1)
            following = decisions[k][1] + 0.9 * alive * (0.2 * after + 0.8 * following)
            wanted.append((round(seen[k], 4), round(following, 4)))
    assert len(wanted) > 80
    np.testing.assert_allclose(got, sorted(wanted), atol=2e-4)
    # nobody has an illegal choice, also where nobody is
    assert (found["avail_actions"].sum(-1) > 0).all()
