"""Averages of weights: their values, when networks have them, and what is saved of them."""

import numpy as np
import pytest
import torch as th

from cli.compose import compose_config
from collection.synchronous import SyncCollection
from learners.averages import AveragedWeights, with_averages
from learners.iqn_learner import IQNLearner
from run import run
from small_learners import iqn_learner as make_learner
from small_learners import iqn_sample as sample
from small_training import SETTINGS, suited

# of one weight after each update, and its averages with kept=0.75: plain means at first, then a quarter of each new one
WEIGHTS, AVERAGES = [4.0, 8.0, 0.0, 12.0, 12.0], [4.0, 6.0, 4.0, 6.0, 7.5]


class Learner:
    """A weight with an average."""

    def __init__(self, kept=0.75):
        self.weight = th.nn.Parameter(th.zeros(1))
        self.average = AveragedWeights([self.weight], kept)

    def update(self, value):
        with th.no_grad():
            self.weight.fill_(value)
        self.average.update()

    def tested(self):
        with self.average.in_place():
            return self.weight.item()


def test_averages_by_hand():
    learner = Learner()
    for value, expected in zip(WEIGHTS, AVERAGES, strict=True):
        learner.update(value)
        assert (learner.tested(), learner.weight.item()) == (expected, value)


def test_weights_come_back_after_a_fault():
    learner = Learner()
    learner.update(1.0)
    learner.update(3.0)
    with pytest.raises(KeyError), learner.average.in_place():
        assert learner.weight.item() == 2.0
        raise KeyError
    assert learner.weight.item() == 3.0


def test_a_restored_average_continues():
    straight, first, second = Learner(), Learner(), Learner()
    for value in WEIGHTS:
        straight.update(value)
    for value in WEIGHTS[:2]:
        first.update(value)
    second.average.load_state_dict(first.average.state_dict())
    for value in WEIGHTS[2:]:
        second.update(value)
    assert second.tested() == straight.tested() == AVERAGES[-1]


def test_an_average_of_other_networks_is_refused():
    state = AveragedWeights([th.nn.Parameter(th.zeros(2))], 0.5).state_dict()
    with pytest.raises(ValueError, match="other sizes than the networks"):
        Learner().average.load_state_dict(state)


def test_networks_have_averages_during_steps_only():
    learner, foreign = Learner(), object()
    learner.update(1.0)
    learner.update(3.0)
    steps = with_averages([learner, foreign], (learner.weight.item() for _ in range(3)))
    assert [(within, learner.weight.item()) for within in steps] == [(2.0, 3.0)] * 3
    assert learner.weight.item() == 3.0


def test_saved_models_have_the_averages(tmp_path):
    learner, mac = make_learner(average_weights=0.5)
    seen = []
    for seed in range(3):
        np.random.seed(seed)
        learner.train(sample(), 0, 0)
        seen.append([weight.detach().clone() for weight in mac.parameters()])
    # the mean of two, then half of the third
    expected = [((first + second) / 2 + third) / 2 for first, second, third in zip(*seen, strict=True)]
    learner.save_models(tmp_path)
    saved = th.load(tmp_path / "agent.th").values()
    assert all(th.allclose(one, two, atol=1e-7) for one, two in zip(saved, expected, strict=True))
    assert all(th.equal(one, two) for one, two in zip(mac.parameters(), seen[-1], strict=True))
    learner.train(sample(), 0, 0)
    learner.load_models(tmp_path)  # the average restarts from what was loaded
    with learner.average.in_place():
        assert all(th.equal(one, two) for one, two in zip(mac.parameters(), saved, strict=True))


@pytest.mark.parametrize("kept", [0.0, 0.9])
def test_a_run_tests_its_averages_and_plays_with_its_newest_weights(tmp_path, monkeypatch, kept):
    played = {True: [], False: []}  # by whether it is a test: whether the weights are the newest
    updates = []
    play, train = SyncCollection._play, IQNLearner.train

    def watched_play(self, test_mode=False):
        if len(updates) > 1:  # the average of one is the newest
            played[test_mode].append(all(map(th.equal, self._mac.parameters(), updates[-1])))
        return play(self, test_mode)

    def watched_train(self, *arguments):
        train(self, *arguments)
        updates.append([weight.detach().clone() for weight in self.mac.parameters()])

    monkeypatch.setattr(SyncCollection, "_play", watched_play)
    monkeypatch.setattr(IQNLearner, "train", watched_train)
    config = compose_config("iqn", "matrix").config
    suited(config, {**SETTINGS, "local_results_path": str(tmp_path), "average_weights": kept})
    run({**config, "t_max": 60, "test_interval": 20})
    assert len(played[True]) > 2 and all(played[False])
    assert not any(played[True]) if kept else all(played[True])
