"""Q-learning's updates: what they log, when targets follow, in which precision, and what is saved of them."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.q_learner import QLearner
from small_q_learner import make_learner
from utils.errors import ConfigError


@pytest.mark.parametrize("mixer", [None, "vdn", "qmix"])
def test_statistics_are_plain_floats_with_pymarls_names(mixer):
    """A tensor among them would be stored in Sacred's info.json as a pickled object."""
    learner, batch = make_learner(mixer)
    told = {}
    learner.logger.log_stat = lambda key, value, t: told.update({key: type(value)})
    learner.train(batch, 1, 0)
    assert told == dict.fromkeys(["loss", "grad_norm", "td_error_abs", "q_taken_mean", "target_mean"], float)


def _same(a, b):
    return all(th.equal(x, y) for x, y in zip(a.values(), b.values(), strict=True))


def test_targets_are_updated_by_episodes():
    learner, batch = make_learner("qmix", target_update_interval=10)
    for episode, updated in [(0, False), (9, False), (10, True), (19, False), (20, True), (50, True), (59, False)]:
        learner.train(batch, 1, episode)
        assert _same(learner.target_mac.agent.state_dict(), learner.mac.agent.state_dict()) == updated, episode
        assert _same(learner.target_mixer.state_dict(), learner.mixer.state_dict()) == updated, episode


def test_a_controller_without_unroll_learns_the_same():
    class Plain:
        """Hides that the controller can be unrolled."""

        def __init__(self, mac):
            self.mac = mac

        def __getattr__(self, name):
            if name in ("unroll", "mac") or name.startswith("__"):
                raise AttributeError(name)
            return getattr(self.mac, name)

        def load_state(self, other):
            self.mac.load_state(other.mac)

    batch = random_batch([3, 5], 6)
    learners = []
    for wrap in (lambda mac: mac, Plain):
        args = make_args(mixer="vdn", rnn_hidden_dim=8, learner_log_interval=1)
        mac = BasicMAC(batch.scheme, batch.groups, args)
        fill(mac.parameters())
        learner = QLearner(wrap(mac), batch.scheme, RecordingLogger(), args)
        learner.train(batch, 1, 0)
        learners.append((mac, learner))
    (ours, first), (theirs, second) = learners
    th.testing.assert_close(dict(ours.agent.state_dict()), dict(theirs.agent.state_dict()))
    assert first.logger.last() == pytest.approx(second.logger.last(), rel=1e-5)


def test_models_travel_with_their_targets(tmp_path):
    """PyMARL leaves the target mixer random after loading."""
    learner, batch = make_learner("qmix")
    learner.train(batch, 1, 0)
    learner.save_models(str(tmp_path))
    assert {p.name for p in tmp_path.iterdir()} == {"agent.th", "mixer.th", "opt.th"}
    other, _ = make_learner("qmix")
    for network in (other.mac.agent, other.mixer, other.target_mac.agent, other.target_mixer):
        fill(network.parameters(), seed=9)
    other.load_models(str(tmp_path))
    assert _same(other.mixer.state_dict(), learner.mixer.state_dict())
    assert _same(other.target_mixer.state_dict(), learner.mixer.state_dict())
    assert _same(other.target_mac.agent.state_dict(), learner.mac.agent.state_dict())
    learner._update_targets()
    for each in (learner, other):
        each.train(batch, 2, 1)
    assert _same(other.mac.agent.state_dict(), learner.mac.agent.state_dict()), "the optimiser continues where it was"


def test_state_of_another_optimiser_is_refused(tmp_path):
    learner, batch = make_learner("vdn")
    learner.train(batch, 1, 0)
    learner.save_models(str(tmp_path))
    other, _ = make_learner("vdn", optimizer="adam")
    with pytest.raises(ConfigError, match=r"opt\.th does not fit.*another optimiser"):
        other.load_models(str(tmp_path))


def test_statistics_are_logged_at_intervals_and_survive_nan():
    learner, batch = make_learner("vdn", learner_log_interval=100, on_non_finite="skip")
    for t_env in (0, 50, 99, 100, 150):
        learner.train(batch, t_env, 0)
    assert [t for t, _ in learner.logger.values["loss"]] == [0, 100]
    batch["reward"].fill_(float("nan"))
    learner.train(batch, 300, 0)
    assert np.isnan(learner.logger.last()["loss"])


@pytest.mark.parametrize("mixer", [None, "vdn", "qmix"])
def test_bfloat16_rounds_the_forward_pass_and_nothing_else(mixer):
    losses = {}
    for precision in ("float32", "bfloat16"):
        learner, batch = make_learner(mixer, precision=precision, optimizer="adam")
        learner.train(batch, 1, 1)
        losses[precision] = learner.logger.last()["loss"]
        assert {p.dtype for p in learner.params} == {th.float32}
        assert {p.grad.dtype for p in learner.params} == {th.float32}
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.03)
    assert losses["bfloat16"] != losses["float32"]


def test_padding_is_not_computed_and_changes_nothing(monkeypatch):
    """Against the path of third parties' controllers, which compute every step."""
    batch = random_batch([3, 8, 1, 5], 9)
    results = []
    for packed in (True, False):
        learner, _ = make_learner("qmix", batch)
        if not packed:
            monkeypatch.setattr(BasicMAC, "packed_inputs", lambda self, batch: None)
        learner.train(batch, 1, 1)
        results.append((learner.logger.last(), [p.detach() for p in learner.params]))
    for key, value in results[0][0].items():
        assert value == pytest.approx(results[1][0][key], rel=1e-5), key
    th.testing.assert_close(results[0][1], results[1][1])
