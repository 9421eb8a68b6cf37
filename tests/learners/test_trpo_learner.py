"""TRPO: its natural gradient by hand, the trust region, and what the line search does."""

import pytest
import torch as th

from checks import check_config
from cli.compose import compose_config
from components.sampling.fields import of_agent
from fakes import RecordingLogger
from learners.trpo_learner import TRPOLearner, conjugate_gradient, flat
from modules.policies.distributions import Bernoulli, Categorical, Gaussian, Joint
from random_rollouts import random_rollout
from utils.errors import ConfigError

SETTINGS = {"learner": "trpo_learner", "gamma": 0.9, "entropy_coef": 0.0, "learner_log_interval": 1}


def learner_on(agent="ff", **changes):
    batch, mac, args = random_rollout(agent, **{**SETTINGS, **changes})
    return TRPOLearner(mac, batch.scheme, RecordingLogger(), args), mac, batch


def test_conjugate_gradient_solves_by_as_many_steps_as_numbers():
    th.manual_seed(0)
    root = th.randn(6, 6, dtype=th.float64)
    matrix, b = root @ root.T + th.eye(6), th.randn(6, dtype=th.float64)
    th.testing.assert_close(conjugate_gradient(matrix.__matmul__, b, 6), th.linalg.solve(matrix, b))
    th.testing.assert_close(conjugate_gradient(matrix.__matmul__, b, 20), th.linalg.solve(matrix, b))
    assert th.equal(conjugate_gradient(matrix.__matmul__, 0 * b, 3), 0 * b)


def test_divergences_by_torchs():
    from torch import distributions as theirs

    th.manual_seed(0)
    one, other, mask = th.randn(4, 3), th.randn(4, 3), th.tensor([1, 1, 0])
    legal = [theirs.Categorical(logits=x[:, :2]) for x in (one, other)]
    choice = Categorical(one, mask).kl(Categorical(other, mask))
    th.testing.assert_close(choice, theirs.kl_divergence(*legal))
    yes = [theirs.Bernoulli(logits=x[:, 0]) for x in (one, other)]
    th.testing.assert_close(Bernoulli(one[:, 0]).kl(Bernoulli(other[:, 0])), theirs.kl_divergence(*yes))
    normal = [theirs.Normal(x, (0.3 * x).exp()) for x in (one, other)]
    middle, scale = th.zeros(3), th.full((3,), 2.0)
    mine = [Gaussian(x, 0.3 * x, middle, scale) for x in (one, other)]
    th.testing.assert_close(mine[0].kl(mine[1]), theirs.kl_divergence(*normal).sum(-1))
    joint = [Joint({"a": Categorical(x, mask), "b": g}) for x, g in zip((one, other), mine, strict=True)]
    th.testing.assert_close(joint[0].kl(joint[1]), choice + mine[0].kl(mine[1]))


@pytest.mark.parametrize(("agent", "order"), [("ff", "together"), ("rnn", "fixed")])
def test_the_step_is_along_the_natural_gradient(agent, order):
    """Fisher's matrix, a mean of g g' over all actions, is that of the divergence; damped, it times the step is g."""
    learner, mac, batch = learner_on(
        agent, rnn_hidden_dim=64, cg_damping=0.3, cg_steps=60, update_order=order, share_params=order == "together"
    )
    estimates, before = [], flat(mac.parameters()).clone()
    learner.estimates = lambda *rest, found=learner.estimates: estimates.append(found(*rest)) or estimates[-1]
    learner.train(batch, 10, 0)
    last = learner.logger.last()
    assert last["step_share"] == pytest.approx(1.0) and 0.003 < last["kl"] < 0.01
    copy_of_all = order == "together"
    own = mac.alone(None if copy_of_all else 0)
    weights = list(own.parameters())
    after = flat(mac.parameters()) if copy_of_all else flat(p[0] for p in mac.parameters())
    step = after - _back(mac, own, before, copy_of_all)
    # at the old weights
    agents = slice(None) if copy_of_all else slice(0, 1)
    seen = batch if copy_of_all else of_agent(batch, 0)
    found = {key: x[..., agents] for key, x in estimates[0].items()}
    sample = learner.sample(seen, found, mac=own)
    now, choices = learner.evaluate_actions(sample, own), sample["choices"]
    gradient = flat(
        th.autograd.grad(
            (now.log_prob * sample["advantages"] * choices).sum() / choices.sum(), weights, retain_graph=True
        )
    )
    probs, logs = now.policy.branches["actions"].probs.detach(), now.policy.branches["actions"].log_probs
    shares = now.spread(probs) * choices.unsqueeze(-1) / choices.sum()
    product = 0.3 * step
    logs = now.spread(logs)
    for place in (shares > 0).nonzero():
        of_action = flat(th.autograd.grad(logs[tuple(place)], weights, retain_graph=True))
        product = product + shares[tuple(place)] * of_action * (of_action @ step)
    cosine = product @ gradient / product.norm() / gradient.norm()
    assert float(cosine.detach()) > 0.999
    size = step @ product / 2
    assert float(size.detach()) == pytest.approx(0.01, rel=0.02)


def _back(mac, own, before, of_all):
    """The old weights, in the copy too."""
    numbers = iter(before.split([p.numel() for p in mac.parameters()]))
    old = []
    for p, q in zip(mac.parameters(), own.parameters(), strict=True):
        whole = next(numbers).view_as(p)
        old.append(whole if of_all else whole[0])
        q.data.copy_(old[-1].view_as(q))
    return flat(old)


def test_a_step_that_does_not_improve_the_policy_is_not_made():
    learner, mac, batch = learner_on(line_search_accept=1.0, line_search_steps=1, max_kl=0.5)
    before = flat(mac.parameters()).clone()
    learner.train(batch, 10, 0)
    assert learner.logger.last()["step_share"] == 0 and th.equal(flat(mac.parameters()), before)


def test_smaller_steps_are_tried_until_one_gains_what_the_gradient_promises():
    learner, _, batch = learner_on(max_kl=2.0, line_search_accept=0.8, line_search_steps=30)
    learner.train(batch, 10, 0)
    last = learner.logger.last()
    assert 0 < last["step_share"] < 1 and last["kl"] < 2.0
    assert last["step_share"] == pytest.approx(
        0.8 ** round(float(th.tensor(last["step_share"]).log() / th.tensor(0.8).log()))
    )


def test_a_gradient_that_is_not_finite_changes_nothing():
    learner, mac, batch = learner_on(on_non_finite="skip")
    before, estimate = flat(mac.parameters()).clone(), learner.estimates
    learner.estimates = lambda *rest: estimate(*rest) | {"advantages": th.full((3, 8, 2), float("nan"))}
    learner.train(batch, 10, 0)
    assert learner.skipped_updates == 1 and th.equal(flat(mac.parameters()), before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"critic": "trunk"}, r"critic=trunk is a part of the policy.*Use critic=own"),
        (
            {"mac": "basic_mac", "action_selector": "multinomial"},
            r"mac=basic_mac does not go with learner=trpo_learner",
        ),
        ({"max_kl": 0.0}, r"max_kl"),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes, message):
    config = compose_config("trpo", "lbf").config
    check_config(config)
    with pytest.raises(ConfigError, match=message):
        check_config({**config, **changes})
