"""Tests on another number of environments than training has."""

from types import SimpleNamespace

import pytest

from experiment.assembly import assemble
from fakes import RecordingLogger
from helpers import make_args
from runners.base import calls_of_a_test
from runners.contract import as_runner
from utils.numbers.random_streams import seed_everything


def results_of_tests(source: str, calls: int, batch_size_run: int, **changes) -> tuple[dict, list[tuple]]:
    """The statistics of tests, and the copy and the return of each of their episodes."""
    seed_everything(3)
    changes |= {"env": "gymnasium", "env_args": {"key": "CartPole-v1", "seed": 3}, "vector_env": source}
    changes |= {"mac": "policy_mac", "agent_output_type": "pi_logits", "learner": "ppo_learner", "critic": "own"}
    args = make_args(runner="rollout", rollout_steps=4, batch_size_run=batch_size_run, **changes)
    parts, episodes = assemble(args, RecordingLogger()), []
    parts.runner.on_test_episode = lambda copy, episode_return, *_: episodes.append((copy, episode_return))
    try:
        for call in range(calls):
            parts.runner.run(test_mode=True)
            if call == 0 and calls > 1:
                parts.runner.run()  # training between two calls
                assert parts.runner.t_env == 4 * batch_size_run
    finally:
        parts.runner.close_env()
    return dict(parts.runner.logger.values), episodes


@pytest.mark.parametrize("source", ["batched", "in_process"])
def test_tests_play_on_test_batch_size_environments(source):
    stats, episodes = results_of_tests(source, calls=2, batch_size_run=2, test_batch_size=4, test_nepisode=6)
    assert [copy for copy, _ in episodes] == [0, 1, 2, 3, 0, 1], "the second call needs two episodes only"
    assert stats["test_return_mean"][-1][1] == pytest.approx(sum(one for _, one in episodes) / 6)


def test_these_are_the_environments_that_a_larger_batch_has():
    """Greedy tests of the same weights: only the starts decide, hence the seeds."""
    with_four = results_of_tests("batched", calls=1, batch_size_run=4, test_nepisode=4)
    assert results_of_tests("batched", calls=1, batch_size_run=2, test_batch_size=4, test_nepisode=4) == with_four
    assert len({episode_return for _, episode_return in with_four[1]}) > 1, "starts differ"


def test_fewer_than_training_has():
    _, episodes = results_of_tests("batched", calls=2, batch_size_run=4, test_batch_size=1, test_nepisode=2)
    assert [copy for copy, _ in episodes] == [0, 0]


def test_a_test_takes_as_many_calls_as_its_episodes_need():
    ours, as_pymarls = SimpleNamespace(batch_size=2, test_batch_size=8), SimpleNamespace(batch_size=2)
    assert [calls_of_a_test(ours, episodes) for episodes in (0, 8, 20)] == [0, 1, 3]
    assert [calls_of_a_test(as_runner(as_pymarls), episodes) for episodes in (0, 8, 19)] == [0, 4, 10]
