"""PPO over entities: the losses of enn-trainer, computed frame by frame and actor by actor."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from entity_runs import parts_of
from learners.state_values import StateValues
from utils.errors import ConfigError

GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2


@pytest.fixture(scope="module")
def played():
    """The parts of a run after two rollouts, and a third; its last weights differ from those that acted."""
    parts, learner = parts_of(epochs=2, lr=0.02, use_rollout_values=False)
    for t in range(2):
        learner.train(parts.runner.run(), t, 0)
    batch = parts.runner.run()
    parts.runner.close_env()
    with th.no_grad():
        for weight in parts.mac.parameters():
            weight += 0.1 * th.randn_like(weight)
    return parts.mac, learner, batch


def frames(mac, batch):
    """(entry, step) of the transitions, and values and advantages by GAE, in plain loops."""
    values = mac.unroll(batch)[0][:, :, 0, -1].double()
    B, T = values.shape
    done = batch["terminated"][..., 0].bool()
    cut = batch["truncated"][..., 0].bool()
    counted, advantages = [], {}
    for b in range(B):
        for t in reversed(range(T - 1)):
            if t > 0 and (done[b, t - 1] or cut[b, t - 1]):  # the closing state
                continue
            following = 0.0 if done[b, t] else float(values[b, t + 1])
            delta = float(batch["reward"][b, t, 0]) + GAMMA * following - float(values[b, t])
            ended = done[b, t] or cut[b, t]
            later = 0.0 if ended or (b, t + 1) not in advantages else advantages[b, t + 1]
            advantages[b, t] = delta + GAMMA * LAMBDA * later
            counted.append((b, t))
    return counted, values, advantages


@pytest.mark.parametrize("loss_reduction", ["agents", "steps"])
def test_the_losses_by_plain_loops(played, loss_reduction):
    mac, learner, batch = played
    learner.args.loss_reduction = loss_reduction
    with th.no_grad():
        counted, _, advantages = frames(mac, batch)
        found = learner.estimates(batch)
        part = learner.sample(batch, found, chunk_length=1)
        policy = mac.distribution(mac.unroll(batch)[0], {"avail_actions": batch["avail_actions"]}).branches["actions"]
    assert part.batch_size == len(counted)
    for b, t in counted:
        assert float(found["advantages"][b, t]) == pytest.approx(advantages[b, t], abs=1e-5)
    # updated values, and advantages in units of their deviation
    scale = np.array([advantages[place] for place in counted])
    scaled = {place: (advantages[place] - scale.mean()) / (scale.std(ddof=1) + 1e-8) for place in counted}
    gains, entropies, weights, moved = [], [], [], {}
    kind = {n: k for k, slots in enumerate(learner._slots) for n in range(3)[slots]}
    for b, t in counted:
        actors = [n for n in range(3) if batch["acts"][b, t, n, 0]]
        for n in actors:
            probs = policy.probs[b, t, n].double().numpy()
            ratio = probs[int(batch["actions"][b, t, n])] / math.exp(float(batch["log_prob"][b, t, n]))
            clipped = min(max(ratio, 1 - CLIP), 1 + CLIP)
            moved.setdefault(kind[n], []).append((ratio - 1 - math.log(ratio), abs(ratio - 1) > CLIP))
            gains.append(min(ratio * scaled[b, t], clipped * scaled[b, t]))
            entropies.append(-sum(p * math.log(p) for p in probs if p > 0))
            weights.append(1.0 if loss_reduction == "agents" else 1 / len(actors))
            moved[kind[n]][-1] += (weights[-1],)
    assert len({len([n for n in range(3) if batch["acts"][b, t, n, 0]]) for b, t in counted}) > 1
    logged = learner._update(part, CLIP, 0.1)
    assert logged["pg_loss"] == pytest.approx(-np.average(gains, weights=weights), abs=2e-5)
    assert logged["entropy"] == pytest.approx(np.average(entropies, weights=weights), rel=1e-4)
    # of each kind of actor, then of both (enn-trainer)
    assert len(moved) == 2
    tables = [np.array(of_kind) for of_kind in moved.values()]
    means = np.mean([np.average(table[:, :2], axis=0, weights=table[:, 2]) for table in tables], axis=0)
    assert [logged["approx_kl"], logged["clip_fraction"]] == pytest.approx(list(means), rel=1e-3)
    # returns are the values of acting plus advantages, so the error of the first update is the advantage
    errors = [advantages[place] ** 2 for place in counted]
    assert logged["critic_loss"] == pytest.approx(np.mean(errors), rel=1e-3)


def test_frames_in_which_nobody_acts_teach_values_only(played):
    """The mean over no actors was not a number, and stopped the run."""
    _, learner, batch = played
    with th.no_grad():
        part = learner.sample(batch, learner.estimates(batch), chunk_length=1)
    part.data.transition_data["choices"] = th.zeros_like(part["choices"])
    logged = learner._update(part, CLIP, 0.1)
    assert all(map(math.isfinite, logged.values()))
    assert logged["pg_loss"] == logged["entropy"] == logged["approx_kl"] == 0
    assert logged["critic_loss"] > 0


def test_one_transition_alone_is_not_scaled(played):
    _, learner, batch = played
    with th.no_grad():
        part = learner.sample(batch, learner.estimates(batch), chunk_length=1)[:1]
    assert math.isfinite(learner._update(part, CLIP, 0.0)["pg_loss"])


def test_the_entropy_falls_to_its_finish():
    _, learner = parts_of(entropy_coef=0.1, entropy_finish=0.0, t_max=1000)
    assert [learner.entropy_coef.eval(t) for t in (0, 500, 1000)] == pytest.approx([0.1, 0.05, 0.0])


def test_values_of_acting_spare_a_pass_over_the_rollout():
    parts, learner = parts_of(epochs=2, lr=0.02)
    for t in range(2):
        learner.train(parts.runner.run(), t, 0)
    batch = parts.runner.run()
    parts.runner.close_env()
    assert batch["terminated"].any() and batch["truncated"].any()
    frames = []
    parts.mac.agent.register_forward_hook(lambda agent, args, outputs: frames.append(len(outputs[1]["value"])))
    taken = learner.values(batch)
    assert frames == [4]
    with th.no_grad():
        computed = parts.mac.unroll(batch)[0][..., :1, -1]
    assert taken.shape == (4, 7, 1) and th.allclose(taken, computed, atol=1e-5)
    # those that the weights of acting gave, but after the last decision
    with th.no_grad():
        for weight in parts.mac.parameters():
            weight += 0.1
        later = parts.mac.unroll(batch)[0][:, -1:, :1, -1]
    changed = learner.values(batch)
    assert th.equal(changed[:, :-1], taken[:, :-1])
    assert th.allclose(changed[:, -1:], later, atol=1e-5) and not th.allclose(later, taken[:, -1:], atol=1e-3)


def test_values_of_acting_are_refused_where_they_are_not_enough():
    with pytest.raises(ConfigError, match="recompute_advantages=True needs values of the present weights"):
        parts_of(recompute_advantages=True)
    with pytest.raises(
        ConfigError, match="needs a controller without a memory, such as mac=entity_mac, or keep_memory=True"
    ):
        StateValues(SimpleNamespace(of_outputs=None), SimpleNamespace(), None, 1).take_from_acting()
