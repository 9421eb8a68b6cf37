"""Intrinsic rewards: what learners get, what their networks learn, and that it is kept."""

import copy

import numpy as np
import pytest
import torch as th

from checks.options import completed
from checks.parts import ChosenParts, check_options_of_parts
from cli.compose import compose_config
from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from controllers.basic_controller import BasicMAC
from envs.contract.fields import pymarl_spec
from fakes import RecordingLogger
from helpers import make_args
from learners.intrinsic import REGISTRY
from learners.intrinsic.rewards import attach, rewarded
from learners.q_learner import QLearner
from utils.errors import ConfigError
from utils.tensors.optimisers import build_optimiser

B, T, N, SEEN, STATE, CHOICES = 4, 5, 2, 3, 2, 2


def batch_of(states=None, observations=None, lengths=(T,) * B):
    """Episodes of these many transitions; observations `[B, T + 1, n, SEEN]` and states are noise if not given."""
    rng = np.random.default_rng(0)
    sizes = {"state_shape": STATE, "obs_shape": SEEN, "n_actions": CHOICES, "n_agents": N}
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes))
    batch = EpisodeBatch(scheme, groups, B, T + 1, preprocess=preprocess)
    states = rng.normal(size=(B, T + 1, STATE)) if states is None else states
    observations = rng.normal(size=(B, T + 1, N, SEEN)) if observations is None else observations
    for row, length in enumerate(lengths):
        for t in range(length + 1):
            seen = {"state": states[row, t], "obs": observations[row, t], "avail_actions": np.ones((N, CHOICES))}
            batch.update({**seen, "actions": rng.integers(CHOICES, size=(N, 1))}, bs=row, ts=t)
            if t < length:
                batch.update({"reward": rng.normal(), "terminated": t == length - 1}, bs=row, ts=t)
    return batch


def learner_of(batch, intrinsic, **changes):
    defaults = REGISTRY.entry(intrinsic).defaults if intrinsic else {}
    args = make_args(mixer="vdn", intrinsic=intrinsic, obs_shape=SEEN, state_shape=STATE, n_agents=N, n_actions=CHOICES)
    vars(args).update({**defaults, "intrinsic_lr": 0.01, "learner_log_interval": 1, **changes})
    th.manual_seed(0)
    mac = BasicMAC(batch.scheme, batch.groups, args)
    return attach(QLearner(mac, batch.scheme, RecordingLogger(), args), batch.scheme, args)


def bonus(learner, batch, t_env=0):
    return (rewarded(learner, batch, t_env)["reward"] - batch["reward"])[..., 0]


def test_without_one_a_batch_is_what_it_was():
    batch = batch_of()
    assert rewarded(learner_of(batch, None), batch, 0) is batch


@pytest.mark.parametrize("intrinsic", list(REGISTRY))
def test_rewards_are_added_where_something_was_done(intrinsic):
    batch = batch_of(lengths=(T, 2, 3, T))
    before = batch["reward"].clone()
    learner = learner_of(batch, intrinsic)
    found = rewarded(learner, batch, 0)
    assert th.equal(batch["reward"], before), "the buffer's"
    added = (found["reward"] - before)[..., 0]
    steps = th.tensor([T, 2, 3, T]).unsqueeze(1) > th.arange(T + 1)
    assert (added[steps] > 0).all() and (added[~steps] == 0).all()
    assert learner.logger.last()["intrinsic_reward"] > 0


@pytest.mark.parametrize("intrinsic", list(REGISTRY))
def test_the_coefficient_is_a_schedule(intrinsic):
    batch = batch_of()
    one = bonus(learner_of(batch, intrinsic, intrinsic_coef=[[0, 2.0], [100, 0.0]]), batch)
    other = bonus(learner_of(batch, intrinsic, intrinsic_coef=[[0, 2.0], [100, 0.0]]), batch, t_env=50)
    th.testing.assert_close(one, 2 * other)
    assert not bonus(learner_of(batch, intrinsic, intrinsic_coef=[[0, 2.0], [100, 0.0]]), batch, t_env=100).any()


@pytest.mark.parametrize("intrinsic", list(REGISTRY))
def test_padding_counts_nowhere(intrinsic):
    """Neither in what is normalised nor in what is learned."""
    found = []
    for noise in (0.0, 100.0):
        batch = batch_of(lengths=(T, 2, 3, T))
        for key in ("state", "obs"):
            batch[key][1, 3:] = noise
        learner = learner_of(batch, intrinsic)
        found.append([*(bonus(learner, batch) for _ in range(3)), *learner.intrinsic.state_dict().values()])
    for one, other in zip(*found, strict=True):
        assert th.equal(one, other)


@pytest.mark.parametrize("sees", ["state", "obs"])
def test_what_was_seen_often_is_worth_less_than_what_is_new(sees):
    """Half of the rows are at one place, until it is known; then others come to another one."""
    places = np.eye(SEEN)[:, None, None]
    known = batch_of(np.tile(np.eye(STATE)[0], (B, T + 1, 1)), np.tile(places[0], (B, T + 1, N, 1)))
    learner = learner_of(known, "rnd", intrinsic_sees=sees)
    first = bonus(learner, known).clone()
    for _ in range(150):
        last = bonus(learner, known)
    assert last[:, :T].max() < 0.3 * first[:, :T].min()
    states, observations = np.tile(np.eye(STATE)[0], (B, T + 1, 1)), np.tile(places[0], (B, T + 1, N, 1))
    states[0, 3], observations[0, 3] = np.eye(STATE)[1], places[1]
    mixed = bonus(learner, batch_of(states, observations))
    assert mixed[0, 2] == mixed.max() > 3 * mixed[0, 1]


def test_agents_are_paid_for_being_known_by_what_they_see():
    """EOI: agents with observations of their own come to a probability of 1; agents that see the same stay at 1 / n."""
    observations = np.random.default_rng(1).normal(size=(B, T + 1, N, SEEN))
    observations[..., 0, 0], observations[..., 1, 0] = 3.0, -3.0
    same = observations.copy()
    same[..., 1, :] = same[..., 0, :]
    alike, apart = (learner_of(batch_of(), "eoi", intrinsic_coef=1.0) for _ in range(2))
    both = batch_of(observations=same), batch_of(observations=observations)
    for _ in range(80):
        of_alike, of_apart = bonus(alike, both[0]), bonus(apart, both[1])
    assert of_alike[:, :T].numpy() == pytest.approx(1 / N, abs=1e-3)
    assert of_apart[:, :T].min() > 0.95


def test_each_agent_has_its_own_where_rewards_are_each_agents():
    batch = batch_of()
    learner = learner_of(batch, "rnd", intrinsic_sees="obs")
    rewards = th.zeros(B, T + 1, N)
    batch.scheme["reward"] = {"vshape": (N,)}
    batch.data.transition_data["reward"] = rewards
    found = rewarded(learner, batch, 0)["reward"]
    assert found.shape == rewards.shape and (found[:, :T, 0] != found[:, :T, 1]).all()


def test_it_is_saved_with_the_learner(tmp_path):
    batch = batch_of()
    learner = learner_of(batch, "rnd")
    rewarded(learner, batch, 0)
    learner.save_models(tmp_path)
    other = learner_of(batch, "rnd")
    other.load_models(tmp_path)
    assert (tmp_path / "intrinsic.th").exists() and (tmp_path / "intrinsic_opt.th").exists()
    th.testing.assert_close(bonus(other, batch), bonus(learner, batch))


def test_a_learner_that_could_not_save_it_is_refused():
    batch = batch_of()
    args = make_args(intrinsic="rnd", learner="mine")
    with pytest.raises(ConfigError, match=r"intrinsic=rnd does not go with learner=mine"):
        attach(object(), batch.scheme, args)


def test_emcs_curiosity_is_how_badly_next_values_are_predicted():
    batch = batch_of(lengths=(T, 2, 3, T))
    learner = learner_of(batch, "emc", intrinsic_coef=1.0, curiosity_tau=0.25, obs_last_action=False)
    part = learner.intrinsic
    with th.no_grad():
        for weight in learner.mac.parameters():
            weight.mul_(2)  # a learner that has moved
    kept = [weight.clone() for weight in part.followed.parameters()]
    expected = [old + 0.25 * (new - old) for old, new in zip(kept, learner.mac.parameters(), strict=True)]
    predictor = copy.deepcopy(part.predictor)
    found = bonus(learner, batch)
    for one, other in zip(expected, part.followed.parameters(), strict=True):
        th.testing.assert_close(one, other)
    for row, length in enumerate((T, 2, 3, T)):
        hidden = [network.init_hidden().expand(N, -1) for network in (predictor, part.followed)]
        for t in range(length + 1):
            inputs = th.cat([batch["obs"][row, t], th.eye(N)], dim=1)
            (predicted, hidden[0]), (value, hidden[1]) = (
                network(inputs, memory) for network, memory in zip((predictor, part.followed), hidden, strict=True)
            )
            if t:
                error = float((predicted - value).norm(dim=1).mean().detach())
                assert float(found[row, t - 1]) == pytest.approx(error, rel=1e-4)


def test_emcs_curiosity_falls_where_values_are_known():
    batch = batch_of()
    learner = learner_of(batch, "emc", intrinsic_lr=0.01)
    first = bonus(learner, batch).clone()
    for _ in range(25):
        last = bonus(learner, batch)
    assert last.sum() < 0.3 * first.sum()


def test_emcs_curiosity_needs_a_learner_of_values():
    config = completed(compose_config("ippo", "two_step").config | {"intrinsic": "emc"})
    with pytest.raises(ConfigError, match=r"intrinsic=emc .* does not go with learner=ppo_learner\. These do: q_l"):
        check_options_of_parts(ChosenParts(config))


def test_curiosity_of_a_vdn_of_its_own():
    """What is predicted is the values before their step, by a factor; their step is that of a VDN of the environment's
    rewards; those who act know nothing of it."""
    batch, tau = batch_of(lengths=(T, 2, 3, T)), 0.25
    settings = {"intrinsic_coef": 1.0, "curiosity_tau": tau, "curiosity_factor": 3.0, "obs_last_action": False}
    learner = learner_of(batch, "emc_vdn", **settings, double_q=True, gamma=0.9, lr=0.02, td_lambda=0.5)
    part, acting = learner.intrinsic, [weight.clone() for weight in learner.mac.parameters()]
    values, target = (each["curiosity_values"] for each in (learner.networks, learner.target_networks))
    with th.no_grad():
        for network, scale in ((target, 0.7), (part.followed, 1.3)):
            for weight in network.parameters():
                weight.mul_(scale)
    nets = {"predictor": part.predictor, "followed": part.followed, "values": values, "target": target}
    before = {name: copy.deepcopy(network) for name, network in nets.items()}
    found = bonus(learner, batch)
    losses = []
    for row, length in enumerate((T, 2, 3, T)):
        hidden, outputs = {name: net.init_hidden().expand(N, -1) for name, net in before.items()}, []
        for t in range(length + 1):
            inputs, now = th.cat([batch["obs"][row, t], th.eye(N)], dim=1), {}
            for name, network in before.items():
                now[name], hidden[name] = network(inputs, hidden[name])
            outputs.append(now)
        for t in range(length):
            error = float((outputs[t + 1]["predictor"] - 3.0 * outputs[t + 1]["followed"]).norm(dim=1).mean())
            assert float(found[row, t]) == pytest.approx(error, rel=1e-4)
            taken = outputs[t]["values"].gather(1, batch["actions"][row, t]).sum()
            best = outputs[t + 1]["values"].argmax(1, keepdim=True)
            following = 0.0 if t == length - 1 else float(outputs[t + 1]["target"].gather(1, best).sum())
            losses.append((taken - float(batch["reward"][row, t]) - 0.9 * following) ** 2)
    optimiser = build_optimiser(list(before["values"].parameters()), 0.02, learner.args)
    th.stack(losses).mean().backward()
    th.nn.utils.clip_grad_norm_(before["values"].parameters(), learner.args.grad_norm_clip)
    optimiser.step()
    for mine, expected in zip(values.parameters(), before["values"].parameters(), strict=True):
        th.testing.assert_close(mine, expected, rtol=1e-3, atol=1e-4)
    for kept, old, new in zip(*(net.parameters() for net in (part.followed, before["followed"], values)), strict=True):
        th.testing.assert_close(kept, old + tau * (new - old))
    assert all(th.equal(one, other) for one, other in zip(acting, learner.mac.parameters(), strict=True))
    learner._update_targets()
    assert all(th.equal(one, other) for one, other in zip(target.parameters(), values.parameters(), strict=True))


def test_a_vdn_of_ones_own_needs_a_team():
    config = completed(compose_config("iql", "two_step").config | {"intrinsic": "emc_vdn"})
    with pytest.raises(ConfigError, match="intrinsic=emc_vdn learns a value of the team"):
        check_options_of_parts(ChosenParts(config))
