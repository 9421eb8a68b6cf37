"""The rewards of several cars: their sum, their mean, or each its own."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.fields import outcomes


@pytest.mark.parametrize(
    ("reward", "expected"), [("sum", [6.0, 5.0]), ("mean", [2.0, 5 / 3]), ("each", [[1, 2, 3], [0, 4, 1]])]
)
def test_rewards_of_several_cars(reward, expected):
    races = BatchedRaces(2, seed=1, metres=100.0, n_cars=3, reward=reward)
    races.outputs.reward[:] = [[1, 2, 3], [0, 4, 1]]
    assert np.allclose(outcomes(races.options, races.outputs)["reward"], expected)
