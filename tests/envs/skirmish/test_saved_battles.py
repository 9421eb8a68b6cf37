"""Many battles that resume from the state of others continue as these do, bit for bit."""

import copy

import numpy as np
import pytest

from envs.skirmish.environment import SkirmishBatch


@pytest.mark.parametrize("map_name", ["3m", "10gen_protoss"])
def test_many_battles_during_their_episodes(map_name):
    batches = [SkirmishBatch(4, map_name=map_name, seed=seed) for seed in (1, 50)]

    def step(batch, rng, ended):
        batch.reset(ended)
        avail = batch.observed()["avail_actions"]
        actions = np.array([[rng.choice(np.flatnonzero(row)) for row in rows] for rows in avail])
        reward, ended, truncated = (array.copy() for array in batch.step(actions))
        observed = {key: array.copy() for key, array in batch.observed().items()}
        return reward, ended, truncated, observed, [batch.info(b) for b in range(4)]

    ends = []
    for batch, rng in zip(batches, map(np.random.default_rng, (1, 2)), strict=True):
        ended = np.ones(4, dtype=bool)
        for _ in range(45):
            ended = step(batch, rng, ended)[1]
        ends.append(ended)
    batches[1].load_state_dict(copy.deepcopy(batches[0].state_dict()))
    np.testing.assert_equal(batches[1].observed(), batches[0].observed())
    ends = [ends[0], ends[0]]
    for t in range(150):
        outcomes = [step(batch, np.random.default_rng(t), ended) for batch, ended in zip(batches, ends, strict=True)]
        np.testing.assert_equal(outcomes[1], outcomes[0])
        ends = [outcome[1] for outcome in outcomes]
    assert batches[0].get_stats() == batches[1].get_stats()
    other = SkirmishBatch(2, map_name=map_name, seed=1)
    with pytest.raises(ValueError, match="The state does not fit these battles: "):
        other.load_state_dict(batches[0].state_dict())
