"""MAT's controller: what agents decide in turn has the probabilities that learning computes for all of them at once."""

import numpy as np
import pytest
import torch as th
import torch.nn.functional as F

from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from controllers.mat_controller import MATMAC
from controllers.unroll import BatchUnroll
from envs.contract.fields import pymarl_spec
from helpers import make_args
from modules.agents.mat_agent import Attention, check
from modules.policies.policy import plain
from utils.errors import ConfigError

B, T, N, SEEN, CHOICES, NUMBERS = 3, 4, 3, 5, 4, 2


def played(agent, kinds=("choice",), **changes):
    """A batch that a controller of random weights has played, and the log-probabilities and values of its decisions."""
    rng = np.random.default_rng(0)
    sizes = {"state_shape": 1, "obs_shape": SEEN, "n_actions": CHOICES, "n_agents": N}
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes))
    if "numbers" in kinds:
        bounds = {"low": -1.0, "high": 3.0}
        scheme["push"] = {"vshape": (NUMBERS,), "group": "agents", "kind": "action", "dtype": th.float32, **bounds}
    batch = EpisodeBatch(scheme, groups, B, T, preprocess=preprocess)
    args = make_args(mac="mat_mac", agent=agent, critic="trunk", obs_shape=SEEN, n_agents=N, n_head=2, n_block=2)
    vars(args).update(obs_last_action=False, obs_agent_id=False, share_params=True, deviation="parameter", **changes)
    th.manual_seed(0)
    mac = MATMAC(batch.scheme, batch.groups, args)
    with th.no_grad():  # far from the small weights of the start, so that everything counts
        for weight in mac.parameters():
            weight.add_(0.3 * th.randn_like(weight))
    mac.init_hidden(B)
    log_prob, value = [], []
    for t in range(T):
        legal = rng.integers(2, size=(B, N, CHOICES))
        legal[..., 0] = 1
        seen = {"obs": rng.normal(size=(B, N, SEEN)), "state": np.zeros((B, 1)), "avail_actions": legal}
        batch.update(seen, ts=t)
        decision = mac.decide(batch, t, 0)
        batch.update(decision.actions, ts=t)
        log_prob.append(decision.extra("log_prob"))
        value.append(decision.extra("value"))
    return batch, mac, th.stack(log_prob, 1).squeeze(3), th.stack(value, 1).squeeze(3)


def evaluated(batch, mac, packed=True):
    """The same by outputs at all steps at once."""
    unroll = BatchUnroll(batch, mac, packed)
    with th.no_grad():
        outputs = unroll.outputs(mac)
    policy = mac.distribution(outputs, {"avail_actions": unroll.avail_actions})
    actions = {path: plain(unroll.take(batch[path]), outputs.dim() - 1) for path in mac.policy.branches}
    return unroll.spread(policy.log_prob(actions)), unroll.spread(outputs[..., -1])


@pytest.mark.parametrize("kinds", [("choice",), ("choice", "numbers")])
@pytest.mark.parametrize("agent", ["mat", "mat_dec", "commformer", "commformer_graph"])
def test_probabilities_of_decisions_in_turn_are_those_of_learning(agent, kinds):
    batch, mac, log_prob, value = played(agent, kinds)
    for packed in (True, False):
        found = evaluated(batch, mac, packed)
        th.testing.assert_close(found[0], log_prob, rtol=1e-4, atol=1e-4)
        th.testing.assert_close(found[1], value, rtol=1e-4, atol=1e-4)
    some = mac.decide(batch, 1, 0, rows=[0, 2], test_mode=True)
    assert some.actions["actions"].shape == (2, N) and some.extra("value").shape == (2, N, 1)
    th.testing.assert_close(some.extra("value").squeeze(2), value[[0, 2], 1], rtol=1e-4, atol=1e-4)


def test_a_decision_and_a_pass_have_one_graph():
    """All agents of all episodes, whenever they decide, on edges that were drawn once."""
    batch, mac, *_ = played("commformer_graph", edge_draws="always")
    drawn, links = [], mac.agent.links
    mac.agent.links = lambda: drawn.append(links()) or drawn[-1]
    mac.decide(batch, 1, 0)
    assert len(drawn) == 1
    mac.forward(batch, 1)
    assert len(drawn) == 2


def changed_by(mac, batch, key, agent):
    """Which agents' outputs, and values, change with what agent number `agent` has in a field; bool `[n]` each."""
    with th.no_grad():
        before = mac.forward(batch, 1)
        one = batch[key][:, 1, agent]
        one.copy_(th.randn(one.shape) if key == "obs" else (one + 1) % CHOICES)
        moved = (mac.forward(batch, 1) - before).abs() > 1e-6
    return moved[..., :-1].any(2).any(0).tolist(), moved[..., -1].any(0).tolist()


def test_actions_follow_those_of_the_agents_before_and_values_what_all_see():
    batch, mac, *_ = played("mat")
    assert changed_by(mac, batch, "actions", 0) == ([False, True, True], [False] * N)
    assert changed_by(mac, batch, "actions", 1) == ([False, False, True], [False] * N)
    assert changed_by(mac, batch, "obs", 2)[1] == [True] * N


def test_decentral_actions_follow_what_an_agent_sees_itself():
    batch, mac, *_ = played("mat_dec")
    assert changed_by(mac, batch, "actions", 0) == ([False] * N, [False] * N)
    assert changed_by(mac, batch, "obs", 2) == ([False, False, True], [True] * N)


def test_values_in_learning_see_what_the_others_do_and_those_of_acting_nothing():
    batch, mac, log_prob, value = played("mat_dec_actions")
    inputs = []
    mac.agent.obs_encoder[0].register_forward_hook(lambda _, given, __: inputs.append(given[0]))
    for packed in (True, False):
        with mac.before_actions():
            found = evaluated(batch, mac, packed)
        th.testing.assert_close(found[0], log_prob, rtol=1e-4, atol=1e-4)
        th.testing.assert_close(found[1], value, rtol=1e-4, atol=1e-4)
        assert (inputs[-1][..., -N * CHOICES :] == 0).all()
        found = evaluated(batch, mac, packed)
        th.testing.assert_close(found[0], log_prob, rtol=1e-4, atol=1e-4)
        assert ((found[1] - value).abs() > 1e-4).all()
    done = batch["actions_onehot"][:, 1].float()
    mac.forward(batch, 1)
    for i in range(N):
        others = done.clone()
        others[:, i] = 0
        th.testing.assert_close(inputs[-1][:, i, -N * CHOICES :], others.flatten(1))
    assert changed_by(mac, batch, "obs", 2) == ([False, False, True], [True] * N)
    batch, mac, _, value = played("mat_dec_actions")
    again = mac.decide(batch, 1, 0).extra("value").squeeze(2)
    th.testing.assert_close(again, value[:, 1], rtol=1e-4, atol=1e-4, msg="decisions look at no action of their step")


def test_greedy_decisions_take_the_best_given_those_before():
    batch, mac, *_ = played("mat")
    batch["actions"][:, 1] = mac.decide(batch, 1, 0, test_mode=True).actions["actions"].unsqueeze(2)
    with th.no_grad():
        outputs = mac.forward(batch, 1)[..., :-1]
    best = outputs.masked_fill(batch["avail_actions"][:, 1] == 0, -th.inf).argmax(2)
    assert th.equal(batch["actions"][:, 1].squeeze(2), best)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_torchs(causal):
    th.manual_seed(0)
    layer, asking, seen = Attention(8, 2), th.randn(2, N, 8), th.randn(2, N, 8)
    parts = [layer.query, layer.key, layer.value]
    hidden = th.ones(N, N).triu(1).bool() if causal else None
    expected, _ = F.multi_head_attention_forward(
        *(x.transpose(0, 1) for x in (asking, seen, seen)),
        8,
        2,
        th.cat([part.weight for part in parts]),
        th.cat([part.bias for part in parts]),
        None,
        None,
        False,
        0.0,
        layer.proj.weight,
        layer.proj.bias,
        attn_mask=hidden,
    )
    th.testing.assert_close(layer(asking, seen, causal), expected.transpose(0, 1))


def test_what_a_team_cannot_be_is_refused():
    config = {"agent": "mat", "n_embd": 64, "n_head": 2, "share_params": True}
    check(config)
    with pytest.raises(ConfigError, match="n_embd=64 is not a multiple of n_head=3"):
        check({**config, "n_head": 3})
    with pytest.raises(ConfigError, match=r"agent=mat is one network for the whole team\. Use share_params=True"):
        check({**config, "share_params": False})
