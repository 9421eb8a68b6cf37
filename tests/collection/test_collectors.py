"""Collectors: their order, the lag of what they play, and resumption."""

import os
import time
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collecting import collectors, learn, new_logger, seen
from collection.collector_board import PLAYING, STARTING
from collection.collector_pool import Collector
from collection.collectors import Collectors

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="locks of files"), pytest.mark.slow]


@settings(deadline=None, max_examples=200)
@given(
    processes=st.integers(1, 4),
    queue=st.integers(0, 2),
    spare=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
    skewed=st.booleans(),
)
def test_no_rollout_is_older_than_the_bound(processes, queue, spare, seed, skewed):
    """A simulation: rollouts take random times, and every rollout that is taken brings new weights."""
    rng = np.random.default_rng(seed)
    made = Collectors.__new__(Collectors)
    most = processes * (queue + 1) + spare
    collectors = [Collector(index) for index in range(processes)]
    made._options, made._most = {"deterministic": False}, most
    playing = np.zeros(processes, dtype=np.int64)
    left = np.zeros(processes, dtype=np.int64)

    def begin(index, version):
        playing[index] = version
        left[index] = rng.integers(1, 60 if skewed and index == 0 else 6)

    for collector in collectors:
        collector.granted = queue + 1
        begin(collector.index, 0)
    waits = 0
    for version in range(150):
        collector = made._next(collectors, version, playing)
        while collector is None:
            waits += 1
            assert waits < 10**5
            for other in collectors:
                if other.granted:
                    left[other.index] -= 1
                    if left[other.index] <= 0:
                        other.rollouts.append(SimpleNamespace(version=int(playing[other.index])))
                        other.granted -= 1
                        begin(other.index, version)
            collector = made._next(collectors, version, playing)
        assert 0 <= version - collector.rollouts.popleft().version <= most
        if not collector.granted:
            begin(collector.index, version)
        collector.granted += 1


def test_collectors_in_turn_have_the_weights_of_the_moment():
    with closing(collectors(new_logger(), deterministic=True, processes=2)) as made:
        taken = []
        for _ in range(6):
            experience = made.take()
            taken.append((experience.source, *seen(experience)[:2], experience.lag, experience.t_env))
            learn(made)
    # the first rollouts of both have the first weights; each further one those of its collector's last turn
    assert taken == [
        (0, 0, 0, 0, 10),
        (1, 0, 0, 1, 20),
        (0, 0, 1, 2, 30),
        (1, 1, 1, 2, 40),
        (0, 2, 2, 2, 50),
        (1, 3, 2, 2, 60),
    ]


def test_the_end_logs_what_no_collector_has_logged():
    with closing(collectors(new_logger(), deterministic=True, processes=2)) as made:
        logged = []
        made.runner.log_pending = lambda: logged.append((sorted(made.runner.train_returns), made.runner.train_stats))
        for _ in range(9):
            made.take()
        made.log_pending()
    # the first has played 5 rollouts, of which it logged 3, and the second 4
    (returns, stats), *more = logged
    assert (returns, sorted(stats.pop("agent_0_return"))) == ([4.0, 4.0, 5.0], [4.0, 4.0, 5.0])
    assert (stats, more) == ({"n_episodes": 3}, [])


def test_turns_are_reproducible_and_resume_exactly(transport):
    turns = {"deterministic": True, "processes": 3, "transport": transport}

    def rollouts(made, number):
        found = []
        for _ in range(number):
            experience = made.take()
            found.append((experience.source, experience.lag, experience.t_env, *seen(experience)))
            learn(made)
        return found

    logger = new_logger()
    with closing(collectors(logger, **turns)) as made:
        straight = rollouts(made, 12)
    with closing(collectors(new_logger(), **turns)) as made:
        first = rollouts(made, 5)
        state, weight = made.state_dict(), made.mac.network.weight.item()
        made.take()
    again = new_logger()
    with closing(collectors(again, **turns)) as made:
        made.load_state_dict(state)
        made.mac.network.weight.data.fill_(weight)
        assert first + rollouts(made, 7) == straight
        assert made.figures()["weight_lag_max"] == 3
    assert again.stats["count"] == logger.stats["count"][5:]
    assert len({random for *_, random in straight}) == 12
    assert len({seed for *_, seed, _ in straight}) == 3


def test_a_state_of_other_collectors_is_refused():
    with closing(collectors(new_logger(), deterministic=True, processes=2)) as made:
        made.take()
        state = made.state_dict()
    for options in ({"deterministic": True, "processes": 3}, {"deterministic": False, "processes": 2}):
        with pytest.raises(ValueError, match="of 2 collectors that take turns: resume with"):
            collectors(new_logger(), **options).load_state_dict(state)


def test_without_turns_a_resumed_run_says_what_is_not_repeated(caplog):
    with closing(collectors(new_logger())) as made:
        made.take()
        state = made.state_dict()
    made = collectors(new_logger())
    with caplog.at_level("WARNING"):
        made.load_state_dict(state)
    assert "The collectors start new episodes: the order of their rollouts" in caplog.text
    assert made.t_env == 10


def test_a_slow_collector_does_not_hold_up_the_others_before_its_rollout_gets_old():
    with closing(collectors(new_logger(), processes=2, max_lag=6, pause={"collector-1": 1.5})) as made:
        made.take()
        while (made._pool.board.states == STARTING).any():  # nobody waits for one that starts
            time.sleep(0.01)
        order, lags = [], []
        for _ in range(12):
            experience = made.take()
            order.append(experience.source)
            lags.append(experience.lag)
            learn(made)
    assert max(lags) <= 6
    assert order[:3] == [0, 0, 0]
    assert 1 in order


def test_collectors_fetch_weights_within_a_rollout():
    """Each collector's first rollout lasts until the learner has published, and pulls at every step."""
    with closing(collectors(new_logger(), processes=1, queue=0, pull_steps=1, pause={"collector-0": 0.5})) as made:
        made.take()
        while made._pool.board.states[0] != PLAYING:
            time.sleep(0.001)
        # it fetches its first weights in no time, and pauses before it acts
        time.sleep(0.1)
        learn(made)
        made._weights.publish()
        first = made.take()
        assert first.lag == 1
        assert seen(first)[0] == 1
