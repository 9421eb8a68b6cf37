"""PyMARL's learners: what they log, when targets follow, in which precision they compute, and what is saved of them."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.qtran_learner import QLearner as QTRANLearner
from small_learners import coma_learner, q_learner
from utils.errors import ConfigError

LOGGED = {
    None: "loss grad_norm td_error_abs q_taken_mean target_mean",
    "vdn": "loss grad_norm td_error_abs q_taken_mean target_mean",
    "qmix": "loss grad_norm td_error_abs q_taken_mean target_mean",
    "qtran_base": "loss td_loss opt_loss nopt_loss grad_norm td_error_abs td_targets td_chosen_qs v_mean "
    "agent_indiv_qs",
    "coma": "critic_loss critic_grad_norm td_error_abs target_mean q_taken_mean advantage_mean coma_loss "
    "agent_grad_norm pi_max",
}
FILES = {
    "qmix": {"agent.th", "mixer.th", "opt.th"},
    "qtran_base": {"agent.th", "mixer.th", "opt.th"},
    "coma": {"agent.th", "critic.th", "agent_opt.th", "critic_opt.th"},
}
COUNTS = {"coma": "last_target_update_step"}


def learner_of(name, **changes):
    """A learner with known weights and the same targets, by its mixer, or "coma"; and a batch for it."""
    batch = random_batch([3, 5], 6)
    if name == "coma":
        return coma_learner(batch, **changes), batch
    if name != "qtran_base":
        return q_learner(name, batch, **changes)
    args = make_args(mixer=name, rnn_hidden_dim=8, mixing_embed_dim=4, learner_log_interval=1, **changes)
    learner = QTRANLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, network in enumerate((learner.mac.agent, learner.mixer)):
        fill(network.parameters(), seed)
    learner._update_targets()
    return learner, batch


def same(one, other):
    return all(map(th.equal, one.state_dict().values(), other.state_dict().values()))


@pytest.mark.parametrize("name", LOGGED)
def test_statistics_are_plain_floats_with_pymarls_names(name):
    """A tensor among them would be stored in Sacred's info.json as a pickled object. NaN is logged, too."""
    learner, batch = learner_of(name, on_non_finite="skip")
    told = {}
    learner.logger.log_stat = lambda key, value, t: told.update({key: value})
    learner.train(batch, 1, 0)
    assert {key: type(value) for key, value in told.items()} == dict.fromkeys(LOGGED[name].split(), float)
    assert np.isfinite(list(told.values())).all()
    batch["reward"].fill_(float("nan"))
    learner.train(batch, 2, 0)
    assert np.isnan(
        [value for key, value in told.items() if key.removeprefix("critic_").removeprefix("td_") == "loss"]
    ).all()


def test_statistics_are_logged_at_intervals():
    learner, batch = q_learner("vdn", learner_log_interval=100)
    for t_env in (0, 50, 99, 100, 150):
        learner.train(batch, t_env, 0)
    assert [t for t, _ in learner.logger.values["loss"]] == [0, 100]


@pytest.mark.parametrize("name", FILES)
def test_targets_follow_by_the_count_that_pymarl_names(name):
    """Episodes, but critic steps of COMA: five an update, the longest episode's."""
    learner, batch = learner_of(name, target_update_interval=10)
    count = COUNTS.get(name, "last_target_update_episode")
    found = []
    for episode in (0, 9, 10, 19, 20, 50, 59):
        learner.train(batch, 1, episode)
        pairs = [(target, learner.networks[key]) for key, target in learner.target_networks.items()]
        found.append([same(*pair) for pair in pairs])
        if getattr(learner, "target_mac", None) is not None:
            found[-1].append(same(learner.target_mac.agent, learner.mac.agent))
    followed = [False, True] * 3 + [False] if name == "coma" else [False, False, True, False, True, True, False]
    assert found == [[one] * len(each) for one, each in zip(followed, found, strict=True)]
    assert all(found)
    assert getattr(learner, count) == (30 if name == "coma" else 50)
    setattr(learner, count, 0)  # as a learner of PyMARL's does that writes its own `train`
    learner.train(batch, 1, 59)
    assert same(*pairs[0])


@pytest.mark.parametrize("name", ["vdn", "qtran_base", "coma"])
@pytest.mark.parametrize("hidden", ["unroll", "packed_inputs"])
def test_a_controller_that_is_unrolled_step_by_step_learns_the_same(name, hidden, monkeypatch):
    """A third party's computes every step, padding included."""
    (first, batch), (second, _) = learner_of(name), learner_of(name)
    first.train(batch, 1, 0)
    if hidden == "unroll":
        monkeypatch.delattr(BasicMAC, "unroll")
    monkeypatch.setattr(BasicMAC, "packed_inputs", lambda self, batch: None)
    second.train(batch, 1, 0)
    assert second.logger.last() == pytest.approx(first.logger.last(), rel=1e-5)
    for ours, theirs in [
        (first.mac.agent, second.mac.agent),
        *zip(first.networks.values(), second.networks.values(), strict=True),
    ]:
        th.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", FILES)
def test_models_travel_with_their_targets_and_optimisers(name, tmp_path):
    """PyMARL leaves the target mixer random after loading."""
    (learner, batch), (other, _) = learner_of(name), learner_of(name)
    learner.train(batch, 1, 0)
    learner.save_models(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == FILES[name]
    for network in (other.mac.agent, *other.networks.values(), *other.target_networks.values()):
        fill(network.parameters(), seed=9)
    other.load_models(str(tmp_path))
    assert same(other.mac.agent, learner.mac.agent)
    for key, network in learner.networks.items():
        assert same(other.networks[key], network)
    for key, target in other.target_networks.items():
        assert same(target, learner.networks[key])
    learner._update_targets()
    for each in (learner, other):
        each.train(batch, 2, 1)
    assert same(other.mac.agent, learner.mac.agent), "the optimiser continues where it was"
    refused, _ = learner_of(name, optimizer="adam")
    with pytest.raises(ConfigError, match=r"opt\.th does not fit.*another optimiser"):
        refused.load_models(str(tmp_path))


@pytest.mark.parametrize("mask_before_softmax", [True, False])
def test_padding_and_illegal_actions_leave_no_nan(mask_before_softmax):
    """The logarithm of a probability of 0, times a mask of 0, is NaN: COMA's losses in PyMARL2 turn NaN."""
    batch = random_batch([1, 5], 6, ends=["truncated", "terminated"])
    learner = coma_learner(batch, mask_before_softmax=mask_before_softmax, epsilon_start=0.5)
    for _ in range(3):
        learner.train(batch, 1, 0)
    assert all(np.isfinite(list(learner.logger.last().values())))
    assert all(p.isfinite().all() for p in learner.params)


@pytest.mark.parametrize("mixer", [None, "vdn", "qmix"])
def test_bfloat16_rounds_the_forward_pass_and_nothing_else(mixer):
    losses = {}
    for precision in ("float32", "bfloat16"):
        learner, batch = q_learner(mixer, precision=precision, optimizer="adam")
        learner.train(batch, 1, 1)
        losses[precision] = learner.logger.last()["loss"]
        assert {p.dtype for p in learner.params} == {th.float32}
        assert {p.grad.dtype for p in learner.params} == {th.float32}
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.03)
    assert losses["bfloat16"] != losses["float32"]
