"""Q-learning with standardised rewards and returns."""

import pytest
import torch as th

from helpers import random_batch
from learners.standardisation import Standardisation
from small_learners import q_learner as make_learner
from utils.rl_utils import valid_transitions


@pytest.mark.parametrize("mixer", [None, "vdn"])
def test_rewards_are_standardised_before_targets(mixer):
    learner, batch = make_learner(mixer, standardise_rewards=True)
    mask = valid_transitions(batch)
    learner.train(batch, 10, 0)
    plain, _ = make_learner(mixer)
    batch["reward"][:, :-1] = Standardisation(batch.scheme, learner.args, 1).rewards(batch, mask)
    plain.train(batch, 10, 0)
    assert learner.logger.last() == pytest.approx(plain.logger.last(), rel=1e-5)


@pytest.mark.parametrize(("mixer", "columns"), [(None, 2), ("vdn", 1)])
@pytest.mark.parametrize("padding", [False, True])
def test_returns_are_standardised_after_values_were_brought_to_their_units(mixer, columns, padding):
    """Values of padding are those of the networks, where nothing is legal: with them, the mean is far below."""
    settings = {"standardise_returns": True, "standardise_padding": padding, "td_lambda": 0.0}
    learner, batch = make_learner(mixer, batch=random_batch([3, 5], 6, ends="terminated"), **settings)
    norm = learner.networks["return_norm"]
    learner.train(batch, 10, 0)
    mean, var = norm.running_mean_var()
    assert mean.shape == (columns,)
    assert (mean < -1000).all() if padding else (mean.abs() < 10).all()
    before = learner.mac.unroll(batch)[0]
    with th.no_grad():
        best = before.masked_fill(batch["avail_actions"] == 0, -1e9).argmax(3, keepdim=True)
        values = learner.target_mac.unroll(batch)[0].gather(3, best).squeeze(3)[:, 1:]
        values = values if mixer is None else values.sum(2, keepdim=True)
        ends, mask = batch["terminated"][:, :-1].float(), valid_transitions(batch)
        targets = batch["reward"][:, :-1] + learner.args.gamma * (1 - ends) * (values * var.sqrt() + mean)
    learner.train(batch, 20, 0)
    mean, var = norm.running_mean_var()
    targets = ((targets - mean) / var.sqrt())[mask.expand_as(targets) > 0]
    assert learner.logger.last()["target_mean"] == pytest.approx(targets.mean().item() / 2, rel=1e-4)
