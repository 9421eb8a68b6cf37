"""Critics of actions: several estimates at once are as many networks."""

from types import SimpleNamespace

import pytest
import torch as th

from modules.critics.action_values import CentralActionValues, Layers


@pytest.mark.parametrize("sets", [1, 3])
def test_the_estimates_are_independent_networks(sets):
    layers, x = Layers([4, 6, 5, 2], 2, sets, None), th.randn(sets, 7, 4, requires_grad=True)
    expected = th.empty(2, sets, 7, 2)
    for e in range(2):
        for s in range(sets):
            y = x[s]
            for number, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
                y = (y.relu() if number else y) @ weight[e, s] + bias[e, s]
            expected[e, s] = y
    found = layers(x)
    th.testing.assert_close(found, expected)
    th.testing.assert_close(layers(x, slice(1)), expected[:1])
    found[1].sum().backward()
    assert not layers.weights[0].grad[0].any()
    assert layers.weights[0].grad[1].any()


def test_first_weights():
    th.manual_seed(0)
    layers = Layers([100, 400, 300, 1], 2, 1, 0.003)
    for parameters in (layers.weights, layers.biases):
        bounds = [parameter.detach().abs().max().item() for parameter in parameters]
        assert bounds[:2] == [pytest.approx(0.1, rel=0.05), pytest.approx(0.05, rel=0.05)]
        assert bounds[2] <= 0.003
    assert Layers([100, 400, 1], 2, 1, None).weights[1].abs().max() > 0.04


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("agent_id", [True, False])
@pytest.mark.parametrize("choices", [True, False])
def test_central_values_are_of_the_state_and_all_actions(choices, agent_id, shared):
    """Agent i's network sees the state, all actions (of choices, zeros for its own) and its number, in this order."""
    rows, n, k, of_state = 5, 3, 2, 4
    own_kind = {"dtype": th.long} if choices else {}
    scheme = {
        "state": {"vshape": of_state},
        "obs": {"vshape": 6, "group": "agents"},
        "actions": {"vshape": (1 if choices else k,), "group": "agents", **own_kind},
    }
    if choices:
        scheme["actions_onehot"] = {"vshape": (k,), "group": "agents", "dtype": th.uint8}
    args = SimpleNamespace(
        n_agents=n, share_critic_params=shared, critic_agent_id=agent_id, critics=2, critic_hidden_dim=8
    )
    th.manual_seed(3)
    critic = CentralActionValues(scheme, args)
    state, taken, own = th.randn(rows, of_state), th.rand(rows, n, k), th.rand(rows, n, k)
    given = {"state": state, "obs": th.randn(rows, n, 6)}
    for other, mine in ((None, taken), (own, own)):
        found = critic(given.__getitem__, taken, other)
        expected = []
        for i in range(n):
            actions = taken.clone()
            actions[:, i] = 0 if choices else mine[:, i]
            number = [th.eye(n)[i].expand(rows, -1)] if agent_id else []
            x = th.cat([state, actions.flatten(1), *number], dim=1)
            s = 0 if shared else i
            for layer, (weight, bias) in enumerate(zip(critic.layers.weights, critic.layers.biases, strict=True)):
                x = (x.relu() if layer else x) @ weight[:, s] + bias[:, s]
            expected.append(x)
        values = th.stack(expected, dim=2)
        th.testing.assert_close(found, values if choices else values.squeeze(-1))
    only_first = critic(given.__getitem__, taken, own, slice(1))
    th.testing.assert_close(only_first, found[:1])
