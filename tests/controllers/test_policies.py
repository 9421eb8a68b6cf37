"""The policies and actions of a `BasicMAC`: epsilon, legality, and the episodes that act."""

import pytest
import torch as th
from small_macs import make_mac


def test_the_epsilon_floor_over_legal_actions_only():
    """Logits 0, 0, 0 with two legal actions: 1/2 each, for any epsilon; with ln 3 and 0: 3/4 and 1/4."""
    mac, _batch = make_mac(agent_output_type="pi_logits", action_selector="multinomial", mask_before_softmax=True)
    avail = th.tensor([[[1, 1, 0], [1, 1, 1]]])
    logits = th.tensor([[[3.0, 1.0, 100.0], [1.0, 1.0, 2.0]]]).log()
    mac.action_selector.epsilon = 0.2
    policy = mac._finish_outputs(logits, avail, test_mode=False)
    expected = th.tensor([[[0.8 * 0.75 + 0.1, 0.8 * 0.25 + 0.1, 0], [0.2 + 0.2 / 3, 0.2 + 0.2 / 3, 0.4 + 0.2 / 3]]])
    th.testing.assert_close(policy, expected)
    th.testing.assert_close(policy.sum(-1), th.ones(1, 2))
    tested = mac._finish_outputs(logits, avail, test_mode=True)
    th.testing.assert_close(tested, th.tensor([[[0.75, 0.25, 0], [0.25, 0.25, 0.5]]]))


def test_the_epsilon_floor_over_all_actions():
    """PyMARL's COMA: the illegal action keeps its probability here; the selector and the learner take it away."""
    mac, _batch = make_mac(agent_output_type="pi_logits", action_selector="multinomial", mask_before_softmax=False)
    mac.action_selector.epsilon = 0.3
    logits = th.tensor([[[1.0, 1.0, 2.0]]]).log()
    policy = mac._finish_outputs(logits, th.tensor([[[1, 1, 0]]]), test_mode=False)
    th.testing.assert_close(policy, th.tensor([[[0.7 * 0.25 + 0.1, 0.7 * 0.25 + 0.1, 0.7 * 0.5 + 0.1]]]))


def test_a_selector_without_epsilon_gets_the_policy_as_it_is():
    mac, _ = make_mac(agent_output_type="pi_logits", action_selector="soft_policies")
    policy = mac._finish_outputs(th.zeros(1, 1, 3), th.ones(1, 1, 3), test_mode=False)
    th.testing.assert_close(policy, th.full((1, 1, 3), 1 / 3))


def test_epsilon_is_that_of_the_step_it_is_used_in():
    """In PyMARL, the floor under the policy is the epsilon of the call before."""
    mac, batch = make_mac(
        agent_output_type="pi_logits", action_selector="multinomial", epsilon_start=1.0, epsilon_anneal_time=100
    )
    seen = []
    finish = mac._finish_outputs
    mac._finish_outputs = lambda *a: (seen.append(mac.action_selector.epsilon), finish(*a))[1]
    mac.init_hidden(2)
    mac.select_actions(batch, t_ep=0, t_env=50)
    assert seen == [pytest.approx(0.525)]


def test_actions_are_legal_and_keep_no_graph():
    mac, batch = make_mac()
    mac.init_hidden(2)
    for t in range(4):
        actions = mac.select_actions(batch, t_ep=t, t_env=0, bs=[1])
        assert actions.shape == (1, 2)
        assert batch["avail_actions"][[1], t].gather(2, actions.unsqueeze(2)).min() == 1
    assert not mac.hidden_states.requires_grad


def test_actions_are_those_of_the_episodes_asked_for():
    mac, batch = make_mac()
    mac.init_hidden(2)
    q = mac.forward(batch, 0).detach()
    best = q.masked_fill(batch["avail_actions"][:, 0] == 0, -9999).argmax(-1)
    assert best[0].tolist() != best[1].tolist()
    for bs, expected in ((slice(None), best), ([1], best[[1]]), ([1, 0], best[[1, 0]])):
        mac.init_hidden(2)
        actions = mac.select_actions(batch, t_ep=0, t_env=0, bs=bs, test_mode=True)
        assert actions.tolist() == expected.tolist()
