"""EOI: its classifier, values and target by hand, who acts by them, and the mistakes that PyMARLzoo+'s has."""

import numpy as np
import pytest
import torch as th
import torch.nn.functional as F

from components.sampling.fields import with_more
from controllers.eoi_controller import EOIMAC, EXPLORED
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.eoi_learner import EOILearner
from small_training import train

ENDS = [("terminated", 3), ("truncated", 5), ("terminated", 1)]
SETTINGS = {
    "mac": "eoi_mac",
    "learner": "eoi_learner",
    "agent_output_type": "pi_logits",
    "action_selector": "soft_policies",
    "critic": "state",
    "rnn_hidden_dim": 4,
    "eoi_hidden_dim": 5,
    "eoi_lr": 0.01,
    "ivf_lr": 0.02,
    "eoi_batch_size": 7,
    "eoi_b2_reg": 0.3,
    "ivf_gamma": 0.8,
    "ivf_tau": 0.9,
    "ivf_alpha_intrinsic_r": 2.0,
    "learner_log_interval": 1,
}


def batch_of(columns=6):
    return random_batch([length for _, length in ENDS], columns, [end for end, _ in ENDS])


def learner_of(batch, **changes):
    args = make_args(**SETTINGS | changes)
    learner = EOILearner(EOIMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    for seed, part in enumerate([learner.mac.agent, learner.classifier, learner.target_ivf]):
        fill(part.parameters(), seed=seed)
    return learner


def rows_by_hand(batch, n):
    """Of each transition that was made, in order: what was seen before and after, by whom, what was done, whether it
    ended."""
    found = []
    for row, (end, length) in enumerate(ENDS):
        for t in range(length):
            over = float(end == "terminated" and t == length - 1)
            for i in range(n):
                seen = batch["obs"][row, t, i], batch["obs"][row, t + 1, i]
                found.append((*seen, i, int(batch["actions"][row, t, i]), over))
    return found


@pytest.mark.parametrize("adds", [False, True])
def test_one_step_of_each_is_as_by_hand(adds):
    batch = batch_of()
    n = batch["obs"].size(2)
    learner = learner_of(batch, ivf_target_adds=adds)
    rows = rows_by_hand(batch, n)
    parts = learner._parts(batch)
    assert sum(len(part["now"]) for part in parts) == len(rows)
    for part, expected in zip(parts, [rows[k : k + 7] for k in range(0, len(rows), 7)], strict=True):
        ids = F.one_hot(th.tensor([who for *_, who, _, _ in expected]), n)
        assert th.equal(part["now"], th.cat([th.stack([now for now, *_ in expected]), ids], 1))
        assert th.equal(part["next"], th.cat([th.stack([then for _, then, *_ in expected]), ids], 1))
        assert part["actions"].squeeze(1).tolist() == [action for *_, action, _ in expected]
        assert part["over"].squeeze(1).tolist() == [over for *_, over in expected]
    first = rows[:7]
    own, ivf, target = learner.classifier, learner.mac.agent.ivf, learner.target_ivf
    before = [weight.clone() for weight in target.parameters()]
    losses = []
    for _, then, who, _, _ in first:
        p = own(then).softmax(-1)
        losses.append(-p[who].log() - 0.3 * (p * p.log()).sum())
    eoi_loss = sum(losses) / 7 / n
    grads = th.autograd.grad(eoi_loss, list(own.parameters()))
    expected_own = [w - 0.01 * g.sign() for w, g in zip(own.parameters(), grads, strict=True)]  # Adam's first step
    found = learner._learn(parts[0])
    assert float(found[0]) == pytest.approx(float(eoi_loss), rel=1e-5)
    for mine, other, grad in zip(own.parameters(), expected_own, grads, strict=True):
        assert th.allclose(mine[grad.abs() > 1e-5], other[grad.abs() > 1e-5], atol=1e-4)
    # the values' reward is of the classifier after its step
    ivf_before = learner_of(batch).mac.agent.ivf
    with th.no_grad():
        errors = []
        kept = [weight.clone() for weight in target.parameters()]
        for weight, old in zip(target.parameters(), before, strict=True):
            weight.copy_(old)
        for now, then, who, action, over in first:
            with_id = lambda seen, who=who: th.cat([seen, F.one_hot(th.tensor(who), n)])  # noqa: E731
            y = 2.0 * own(now).softmax(-1)[who] + 0.8 * (1 - over) * target(with_id(then)).max()
            errors.append((ivf_before(with_id(now))[action] - y) ** 2)
        assert float(found[1]) == pytest.approx(float(sum(errors) / 7 / learner.args.n_actions), rel=1e-4)
        for mine, old, new in zip(kept, before, ivf.parameters(), strict=True):
            assert th.allclose(mine, 0.9 * old + (0.9 if adds else 0.1) * new, atol=1e-6)


def test_pymarlzoos_leaves_transitions_out():
    batch = batch_of()
    n = batch["obs"].size(2)
    learner = learner_of(batch, eoi_leaves_out=True, episode_limit=5, eoi_batch_size=2)
    assert sum(len(part["now"]) for part in learner._parts(batch)) == ((3 + 4 + 1) * n - 1) // 2 * 2


def test_an_update_of_all_logs_and_changes_all():
    batch = batch_of()
    learner = learner_of(batch)
    parts = {"agent": learner.mac.agent.fc1, "ivf": learner.mac.agent.ivf, "classifier": learner.classifier}
    before = {name: next(part.parameters()).clone() for name, part in parts.items()}
    learner.train(batch, 10, 1)
    assert all(not th.equal(next(part.parameters()), before[name]) for name, part in parts.items())
    assert {"eoi_loss", "ivf_loss", "pg_loss"} <= learner.logger.last().keys()


def deciding(batch, **changes):
    mac = EOIMAC(batch.scheme, batch.groups, make_args(**SETTINGS | changes))
    mac.init_hidden(batch.batch_size)
    return mac


def test_who_acts_by_the_values_and_how_often():
    rows, columns = 4000, 3
    plain = random_batch([2] * rows, columns)
    n = plain["obs"].size(2)
    plain["avail_actions"][:] = 1
    plain["avail_actions"][:, :, :, 1] = 0
    batch = with_more(plain, {EXPLORED: th.zeros(rows, columns, 1)})
    mac = deciding(batch, episode_ratio=0.3, explore_ratio=0.6)
    with th.no_grad():  # the illegal one is the best, then the last one, which the policy never takes
        mac.agent.ivf.fc3.weight.zero_()
        mac.agent.ivf.fc3.bias.copy_(th.tensor([0.0, 9.0, 5.0]))
        mac.agent.fc2.weight.zero_()
        mac.agent.fc2.bias.copy_(th.tensor([0.0, 0.0, -50.0]))
    for step in range(2):
        mac.init_hidden(rows)
        decision = mac.decide(batch, step, 0)
        flags, by_values = decision.extra(EXPLORED), decision.actions["actions"] == 2
        if step == 0:
            assert float(flags.mean()) == pytest.approx(0.3, abs=0.03)
            batch[EXPLORED][:, 0] = flags
        assert th.equal(flags, batch[EXPLORED][:, 0])
        assert by_values.sum(1).max() == 1 and not by_values[flags.squeeze(1) == 0].any()
        shares = by_values[flags.squeeze(1) == 1].float().mean(0)
        assert np.allclose(shares, 0.6 / n, atol=0.05)
    mac.init_hidden(rows)
    assert not (mac.decide(batch, 1, 0, test_mode=True).actions["actions"] == 2).any()
    mac.init_hidden(rows)
    assert not (mac.decide(plain, 1, 0).actions["actions"] == 2).any()
    mac.init_hidden(rows)
    some = mac.decide(batch, 1, 0, rows=[3, 5, 8])
    assert th.equal(some.extra(EXPLORED), batch[EXPLORED][[3, 5, 8], 0])


def test_it_trains(tmp_path, monkeypatch):
    assert len(train(tmp_path, monkeypatch, "pymarlzoo_eoi", "lbf", eoi_batch_size=4)) >= 3
