"""The inputs of COMA's critic."""

import itertools

import pytest
import torch as th

from helpers import fill, make_args, random_batch
from modules.critics import COMACritic


def make_critic(**changes):
    batch = random_batch([3, 4], 5)
    critic = COMACritic(batch.scheme, make_args(**changes))
    fill(critic.parameters())
    return critic, batch


def test_inputs_are_state_obs_others_actions_last_actions_and_id():
    critic, batch = make_critic()
    onehot = batch["actions_onehot"]
    for t in (0, 2):
        inputs = critic._build_inputs(batch, t)
        assert inputs.shape == (2, 1, 2, 4 + 5 + 6 + 6 + 2)
        for row in range(2):
            for agent in range(2):
                taken = onehot[row, t].clone()
                taken[agent] = 0
                last = th.zeros(6) if t == 0 else onehot[row, t - 1].reshape(-1)
                agent_id = th.tensor([1.0, 0.0] if agent == 0 else [0.0, 1.0])
                parts = [batch["state"][row, t], batch["obs"][row, t, agent], taken.reshape(-1), last, agent_id]
                assert th.equal(inputs[row, 0, agent], th.cat(parts))


def test_names_of_the_weights_are_pymarls():
    critic, _ = make_critic()
    assert set(critic.state_dict()) == {f"fc{i}.{part}" for i in (1, 2, 3) for part in ("weight", "bias")}
    assert critic.fc1.out_features == critic.fc2.out_features == 128


class _DoublesInputs(COMACritic):
    def _build_inputs(self, batch, t=None):
        return 2 * super()._build_inputs(batch, t)


def test_the_first_layer_in_parts_is_the_layer_of_the_inputs():
    critic, batch = make_critic()
    for t in (None, 0, 2):
        expected = critic.fc1(critic._build_inputs(batch, t))
        th.testing.assert_close(critic._first_layer(batch, t), expected)
        doubled = _DoublesInputs(batch.scheme, make_args())
        doubled.load_state_dict(critic.state_dict())
        x = th.relu(critic.fc2(th.relu(2 * expected - critic.fc1.bias)))
        th.testing.assert_close(doubled(batch, t), critic.fc3(x))


PARTS = ("critic_own_obs", "critic_last_actions", "critic_agent_id")


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seen", list(itertools.product([False, True], repeat=3)))
def test_what_it_sees_and_weights_of_each_agent(seen, shared):
    """Every part that is not asked for is left out; each agent's weights, by EPyMARL's names, see the same."""
    critic, batch = make_critic(**dict(zip(PARTS, seen, strict=True)), share_critic_params=shared, critic_hidden_dim=7)
    everything = COMACritic(batch.scheme, make_args())
    parts = everything._build_inputs(batch).split([4, 5, 6, 6, 2], dim=-1)
    inputs = th.cat([part for part, here in zip(parts, (True, seen[0], True, *seen[1:]), strict=True) if here], dim=-1)
    assert th.equal(critic._build_inputs(batch), inputs)
    weights = critic.state_dict()
    for agent in range(2):
        of = lambda name, agent=agent: weights[name if shared else f"critics.{agent}.{name}"]  # noqa: E731
        x = inputs[:, :, agent]
        for layer in "12":
            x = (x @ of(f"fc{layer}.weight").T + of(f"fc{layer}.bias")).relu()
        assert x.size(-1) == 7
        expected = x @ of("fc3.weight").T + of("fc3.bias")
        th.testing.assert_close(critic(batch)[:, :, agent], expected)
        th.testing.assert_close(critic(batch, 2)[:, :, agent], expected[:, 2:3])
