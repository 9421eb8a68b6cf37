"""An agent with noisy weights: when its controller draws noise, and that tests have none."""

import pytest
import torch as th
import torch.nn.functional as F

from controllers.basic_controller import BasicMAC
from controllers.contract import unroll_by_steps
from controllers.unroll import BatchUnroll
from helpers import make_args, random_batch
from modules.agents.noisy_rnn_agent import check
from utils.errors import ConfigError


def controller(**changes):
    batch = random_batch([4, 4], 5)
    th.manual_seed(0)
    args = make_args(agent="noisy_rnn", agent_output_type="q", rnn_hidden_dim=5, noisy_std=0.5, **changes)
    return BasicMAC(batch.scheme, batch.groups, args), batch


def outputs(mac, batch, **options):
    mac.init_hidden(batch.batch_size)
    return mac.forward(batch, 0, **options).detach()


@pytest.mark.parametrize("share_params", [True, False])
def test_each_decision_has_its_noise_and_tests_have_none(share_params):
    mac, batch = controller(share_params=share_params)
    first, second = outputs(mac, batch), outputs(mac, batch)
    assert not th.isclose(first, second).any()
    state = th.get_rng_state()
    tested = outputs(mac, batch, test_mode=True)
    assert th.equal(tested, outputs(mac, batch, test_mode=True)) and th.equal(state, th.get_rng_state())
    assert not th.isclose(tested, outputs(mac, batch)).any()
    if share_params:
        means = F.linear(mac.hidden_states, mac.agent.fc2.weight_mu, mac.agent.fc2.bias_mu)
        th.testing.assert_close(outputs(mac, batch, test_mode=True), means.view(tested.shape).detach())


def test_an_unroll_has_one_noise_for_all_its_steps():
    mac, batch = controller()
    packed = BatchUnroll(batch, mac)
    spread = packed.spread(packed.outputs(mac)).detach()
    mac._noisy = False  # the noise of this unroll
    by_steps, _ = unroll_by_steps(mac, batch)
    th.testing.assert_close(spread[:, :4], by_steps[:, :4].detach())
    mac._noisy = True
    another, _ = mac.unroll(batch)
    assert not th.isclose(another[:, :4], by_steps[:, :4]).any()


def test_it_does_not_learn_beside_acting():
    settled = {"agent": "noisy_rnn", "collection": "sync", "overlap": False}
    assert check(settled) is None
    for change in ({"collection": "async"}, {"overlap": True}):
        with pytest.raises(ConfigError, match="collection=async does not go with agent=noisy_rnn"):
            check(settled | change)
