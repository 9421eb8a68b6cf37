"""The controller of off-policy actor-critics: how it acts, in training and in tests."""

import copy

import numpy as np
import pytest
import torch as th

from controllers.actor_controller import ActorMAC
from off_policy import DDPG, DISCRETE, HIGH, LOW, SAC, agent_outputs, make_learner, make_sample, numeric, units_of
from utils.errors import ConfigError


def acting(size=6, n_agents=1, choices=0, **changes):
    """A controller that is to act on a batch."""
    mac = make_learner(n_agents, choices, batch_size_run=size, **changes)[1]
    mac.init_hidden(size)
    return mac, make_sample(size, n_agents, choices)


def test_tests_take_the_deterministic_action():
    mac, batch = acting(**DDPG, noise="gaussian", noise_scale=0.5)
    found = mac.decide(batch, 1, 0, test_mode=True).actions["actions"]
    expected = np.tanh(agent_outputs(mac, numeric(batch).obs[:, 1]))
    np.testing.assert_allclose(units_of(found), expected, atol=1e-6)
    mac, batch = acting(**SAC)
    found = mac.decide(batch, 1, 0, test_mode=True).actions["actions"]
    np.testing.assert_allclose(
        units_of(found), np.tanh(agent_outputs(mac, numeric(batch).obs[:, 1])[..., :2]), atol=1e-6
    )


def test_first_steps_are_random_over_the_whole_range():
    """Digideep's defect 4: its random actions covered the upper half of the range."""
    th.manual_seed(0)
    mac, batch = acting(3000, **DDPG, random_steps=10)
    found = mac.decide(batch, 0, 9).actions["actions"].flatten(0, 1).numpy()
    for k, (low, high) in enumerate(zip(LOW, HIGH, strict=True)):
        counts, _ = np.histogram(found[:, k], bins=10, range=(low, high))
        assert counts.sum() == 3000
        assert counts.min() > 230
    expected = mac.decide(batch, 0, 0, test_mode=True).actions["actions"]
    assert th.equal(mac.decide(batch, 0, 10).actions["actions"], expected)


def test_random_choices_are_legal():
    th.manual_seed(0)
    mac, batch = acting(200, choices=4, **DISCRETE, random_steps=10)
    drawn = th.stack([mac.decide(batch, 0, 0).actions["actions"] for _ in range(40)])
    legal = batch["avail_actions"][:, 0]
    assert legal.unsqueeze(0).expand(40, -1, -1, -1).gather(3, drawn.unsqueeze(3)).min() == 1
    for row in range(5):
        assert set(drawn[:, row, 0].tolist()) == set(legal[row, 0].nonzero().flatten().tolist())


@pytest.mark.parametrize("kind", [DDPG, {**DISCRETE, "choices": 4}])
def test_epsilon_replaces_whole_actions(kind):
    th.manual_seed(0)
    mac, batch = acting(2000, **kind, noise="epsilon", noise_scale=0.3)
    test_mode = "choices" not in kind
    greedy = mac.decide(batch, 0, 0, test_mode=True).actions["actions"]
    found = mac.decide(batch, 0, 0).actions["actions"]
    if test_mode:
        changed = (found != greedy).any(-1)
        assert float(changed.float().mean()) == pytest.approx(0.3, abs=0.04)
        assert th.equal((found != greedy).all(-1), changed)
    else:
        assert batch["avail_actions"][:, 0].gather(2, found.unsqueeze(2)).min() == 1


@pytest.mark.parametrize("seed", range(3))
def test_gaussian_noise_and_random_actions_equal_digideeps_egreedy_noise(seed):
    """noise <- N(0, std), clipped to the limits; a whole action is random by chance e (its agent.noises)."""
    std, e, size = 0.8, 0.3, 50
    mac, batch = acting(size, **DDPG, noise="gaussian", noise_scale=std, noise_epsilon=e)
    action = np.tanh(agent_outputs(mac, numeric(batch).obs[:, 0]))
    th.manual_seed(seed)
    normal, chance, uniform = th.randn(size, 1, 2), th.rand(size, 1), th.rand(size, 1, 2) * 2 - 1
    noisy = np.clip(action + std * normal.double().numpy(), -1, 1)
    choice = (chance.double().numpy() < e)[..., None]
    expected = noisy + choice * (uniform.double().numpy() - noisy)
    th.manual_seed(seed)
    found = units_of(mac.decide(batch, 0, 0).actions["actions"])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert 0 < choice.sum() < size
    tested = units_of(mac.decide(batch, 0, 0, test_mode=True).actions["actions"])
    np.testing.assert_allclose(tested, action, atol=1e-6)


def test_actions_are_stored_beyond_their_bounds_where_noise_is_not_clipped():
    mac, batch = acting(**DDPG, noise="ou", noise_scale=3.0, noise_clip=False)
    found = mac.decide(batch, 0, 0).actions["actions"]
    assert ((found < th.tensor(LOW)) | (found > th.tensor(HIGH))).any()


def test_episodes_begin_with_fresh_noise_wherever_they_are():
    """The memory says where an episode begins: it is reset there, by whatever runner."""
    mac, batch = acting(2, **DDPG, noise="ou", noise_scale=0.3)
    for t in (0, 1):
        mac.decide(batch, t, 0)
    before = mac.noise.state_dict()["process"].clone()
    mac.hidden_states["acted"][1] = 0  # a new episode in environment 1
    th.manual_seed(5)
    mac.decide(batch, 0, 0)
    th.manual_seed(5)
    drawn = 0.3 * th.randn(2, 1, 2)
    expected = th.stack([0.85 * before[0] + drawn[0], drawn[1]])
    th.testing.assert_close(mac.noise.state_dict()["process"], expected)


def test_some_episodes_act_while_others_have_ended():
    mac, batch = acting(4, **DDPG, noise="ou", noise_scale=0.3)
    mac.decide(batch, 0, 0)
    before = mac.noise.state_dict()["process"].clone()
    assert mac.decide(batch, 1, 0, rows=[1, 3]).actions["actions"].shape == (2, 1, 2)
    after = mac.noise.state_dict()["process"]
    assert th.equal(after[[0, 2]], before[[0, 2]])
    assert (after[[1, 3]] != before[[1, 3]]).all()


def test_agents_know_their_number_and_have_their_own_weights():
    mac, batch = acting(3, 2, **DDPG, obs_agent_id=True, share_params=False)
    found = mac.decide(batch, 0, 0, test_mode=True).actions["actions"]
    assert found.shape == (3, 2, 2)
    assert not th.equal(found[:, 0], found[:, 1])


@pytest.mark.parametrize(
    ("choices", "changes", "message"),
    [
        (0, {"agent": "rnn"}, "agent=rnn has a memory. Use agent=ff"),
        (0, {"obs_last_action": True}, "Use obs_last_action=False"),
        (3, {"noise": "ou"}, "noise=ou does not suit actions that are choices"),
        (3, {"bernoulli": True}, "bernoulli=True does not suit"),
    ],
)
def test_what_does_not_go_together_is_refused(choices, changes, message):
    with pytest.raises(ConfigError, match=message):
        make_learner(choices=choices, **{**SAC, **changes})


class _OwnOutputs(ActorMAC):
    def outputs_at(self, batch, t):
        return -super().outputs_at(batch, t)


@pytest.mark.parametrize(
    "kind", [{**DDPG, "noise": "ou"}, {**DDPG, "noise": "epsilon"}, SAC, {**DISCRETE, "choices": 4}]
)
def test_the_prepared_pass_is_that_of_the_modules(kind):
    mac, batch = acting(4, n_agents=2, **kind)
    plain = copy.deepcopy(mac)
    plain.agent.register_forward_hook(lambda *_: None)
    with th.no_grad():
        assert mac._prepared.step(batch, 0, mac.hidden_states["agent"]) is not None
        assert plain._prepared.step(batch, 0, plain.hidden_states["agent"]) is None
    for t in (0, 1):
        found, expected = (_decided(x, batch, t) for x in (mac, plain))
        th.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert all(th.equal(mac.hidden_states[key], x) for key, x in plain.hidden_states.items())
    for other in (mac, plain):
        other.agent.load_state_dict({key: 2 * x for key, x in other.agent.state_dict().items()})
    th.testing.assert_close(_decided(mac, batch, 1), _decided(plain, batch, 1), rtol=1e-5, atol=1e-5)


def test_outputs_of_ones_own_are_asked():
    assert ActorMAC.supports_prepared and not _OwnOutputs.supports_prepared
    assert type("_Renamed", (ActorMAC,), {}).supports_prepared


def _decided(mac, batch, t):
    th.manual_seed(3)
    return mac.decide(batch, t, 0).actions["actions"]
