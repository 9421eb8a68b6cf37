"""The batched runner against the parallel one, and where it cannot be used."""

import contextlib

import pytest
import torch as th

from checks import check_config
from experiment.assembly import assemble
from fakes import RecordingLogger
from helpers import make_args
from replays.reader import read_replay
from utils.config.merging import default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.numbers.random_streams import seed_everything

CASES = {
    "3m": {"map_name": "3m"},
    "a map with drawn teams": {"map_name": "10gen_terran"},
    "ends by the clock": {"map_name": "3m", "step_mul": 1, "continuing_episode": True},
}


@contextlib.contextmanager
def assembled(runner, env_args, **changes):
    seed_everything(4)
    env_args = {**env_args, "seed": 4}
    args = make_args(
        env="skirmish", env_args=env_args, runner=runner, batch_size_run=2, runner_log_interval=1, **changes
    )
    logger = RecordingLogger()
    parts = assemble(args, logger)
    try:
        yield parts.runner, logger
    finally:
        parts.runner.close_env()


def play(runner, env_args, tests):
    """Two training rollouts, those tests, and another one; and what was logged."""
    with assembled(runner, env_args, test_nepisode=3, buffer_size=32) as (running, logger):
        batches = [running.run(test_mode) for test_mode in [False, False, *tests, False]]
        return batches, logger.values, running.t_env


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_it_plays_the_same_as_the_parallel_runner(case):
    (batches, values, t_env), (others, other_values, other_t_env) = (
        play(runner, CASES[case], [True]) for runner in ("batched", "parallel")
    )
    assert t_env == other_t_env
    assert values == other_values
    for batch, other in zip(batches, others, strict=True):
        assert batch.scheme.keys() == other.scheme.keys()
        for key in batch.scheme:
            assert th.equal(batch[key], other[key]), key
    if case == "ends by the clock":
        assert batches[0]["truncated"].sum() > 0
    lengths = {int(length) for batch in batches for length in batch["filled"].sum(1)}
    assert len(lengths) > 1 or case == "ends by the clock", "episodes of unequal length"


def test_a_test_plays_no_more_episodes_than_it_needs():
    tests = []
    for needed in (2, 1):
        with assembled("batched", CASES["3m"], test_nepisode=needed, buffer_size=32) as (runner, logger):
            tests.append((runner.run(test_mode=True), logger))
    (both, _), (one, logger) = tests
    assert (both.batch_size, one.batch_size) == (2, 1)
    for key in one.scheme:
        assert th.equal(one[key], both[key][:1]), key
    assert logger.last()["test_return_mean"] == pytest.approx(float(one["reward"].sum()))


def test_it_saves_a_replay_of_the_first_copy(tmp_path):
    with assembled("batched", {"map_name": "3m", "replay_dir": str(tmp_path)}, buffer_size=32) as (runner, _):
        batch = runner.run()
        runner.save_replay()
    (path,) = tmp_path.iterdir()
    rewards = [step["reward"] for step in read_replay(path).steps[:-1]]
    assert len(rewards) == int(batch["filled"][0].sum()) - 1
    assert rewards == pytest.approx(batch["reward"][0, : len(rewards), 0].tolist(), abs=1e-6)


def test_an_environment_without_a_batched_form_is_refused():
    config = recursive_dict_update(default_config(), {"env": "two_step", "vector_env": "batched"})
    with pytest.raises(ConfigError, match=r"vector_env=batched .* env=two_step does not. These do: .*gymnasium, "):
        check_config(config)
