"""Prioritised fictitious self-play in runs: which episodes of training count, and who is drawn."""

import numpy as np
import pytest

from collection.opponents.prioritised import PrioritisedSelfPlay
from run import run
from team_runs import alone

pytestmark = [pytest.mark.usefixtures("team_parts"), pytest.mark.slow]


@pytest.mark.parametrize("rollout_steps", [1, 5])
def test_only_episodes_within_a_rollout_count(tmp_path, monkeypatch, rollout_steps):
    """Others may have been begun by another opponent: of `rollout_steps=1` none ends where it began."""
    counted = []
    monkeypatch.setattr(PrioritisedSelfPlay, "take_episode", lambda self, info: counted.append(info))
    run(
        alone(
            tmp_path, "duel", "ippo", runner="rollout", t_max=300, rollout_steps=rollout_steps, minibatches=1,
            opponents="prioritised", opponent_interval=40, opponent_nepisode=0, batch_size_run=4,
        )
    )  # fmt: skip
    assert all(np.isfinite(info["red/return"]) for info in counted)
    assert bool(counted) == (rollout_steps > 1)


def test_a_model_that_is_beaten_is_drawn_less(tmp_path, monkeypatch):
    """The untrained model of step 0 loses more and more; equals are drawn instead."""
    rates, draw = {}, PrioritisedSelfPlay.draw

    def listen(self, t_env):
        draw(self, t_env)
        rates.update({name: self._rates.of("red", name) for name in self._pool.models})
        rates["weights"] = dict(zip(self._pool.models, self._weights_of("red", list(self._pool.models)), strict=True))

    monkeypatch.setattr(PrioritisedSelfPlay, "draw", listen)
    changes = {"opponent_interval": 1200, "opponent_pool": 5, "opponent_nepisode": 0, "t_max": 3600, "minibatches": 2}
    changes |= {"lr": 0.005, "critic_lr": 0.005, "rnn_hidden_dim": 32, "batch_size_run": 16, "rollout_steps": 8}
    run(alone(tmp_path, "duel", "ippo", runner="rollout", opponents="prioritised", test_nepisode=0, **changes))
    weights = rates["weights"]
    assert rates["0"] > 0.7
    assert weights["0"] < max(weights.values()) / 2
