"""Rollouts in the memory layout of the buffer that stores them."""

import pytest

from cli.compose import compose_config
from components.episode_batch import EpisodeBatch
from components.record_batch import RecordBatch
from small_training import assembled, suited

SMALL = {"batch_size_run": 2, "vector_env": "in_process", "rnn_hidden_dim": 8, "batch_size": 4}


def config_of(algorithm, environment, folder, **changes):
    config = compose_config(algorithm, environment).config
    return suited(config, {**SMALL, "local_results_path": str(folder), **changes})


@pytest.mark.parametrize(
    "algorithm, env_args", [("sac", {"key": "Pendulum-v1"}), ("sac_discrete", {"key": "MountainCar-v0"})]
)
def test_steps_of_a_run_are_inserted_by_one_copy(tmp_path, algorithm, env_args):
    with assembled(config_of(algorithm, "gymnasium", tmp_path, env_args=env_args)) as parts:
        buffer, taken = parts.learning[0].buffer, []
        insert_next, layout = buffer.ring.insert_next, buffer.ring.layout

        def listen(batch, source):
            taken.append(insert_next(batch, source) >= 0)
            return -1 if not taken[-1] else buffer.ring.stop - 2 * batch.batch_size

        buffer.ring.insert_next = listen
        for _ in range(6):
            batch = parts.acting.take().batch
            assert isinstance(batch, RecordBatch) and batch.records_of(layout) is not None
            buffer.insert(batch)
        assert taken == [False] + [True] * 5
        assert len(buffer.learned) == 12


def test_batches_of_other_buffers_are_contiguous(tmp_path):
    with assembled(config_of("mappo", "two_step", tmp_path, rollout_steps=4)) as parts:
        batch = parts.acting.take().batch
        assert type(batch) is EpisodeBatch and batch["obs"].is_contiguous()
