"""Networks whose rows are divided give the outputs and gradients of undivided ones. No GPU was there: `devices`."""

import pytest
import torch as th
import torch.nn as nn

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from controllers.inputs import RowInputs
from devices import CPUS, use_cpus
from envs.contract.fields import pymarl_spec
from helpers import SIZES, fill, make_args
from modules.agents import REGISTRY as agents
from modules.critics import REGISTRY as critics
from modules.unshared import unshare
from utils.tensors.divided import divided, divided_sequences, dividing, is_dividing

N = SIZES["n_agents"]


@pytest.fixture
def calls(monkeypatch):
    return use_cpus(monkeypatch)


def require_same(network, compute, calls, shapes):
    """Outputs and gradients, alone and divided; `shapes` of what the replicas got."""
    found = []
    for devices in ((), CPUS):
        network.zero_grad()
        with dividing(devices):
            outputs = compute()
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            sum((x * th.linspace(-1, 1, x.numel()).view_as(x)).sum() for x in outputs if x.requires_grad).backward()
        found.append([*outputs, *(p.grad for p in network.parameters() if p.grad is not None)])
    assert [list(map(tuple, call)) for call in calls] == [shapes]
    assert len(found[0]) == len(found[1]) > 1
    for one, other in zip(*found, strict=True):
        th.testing.assert_close(one, other)


def test_critics_of_actions(calls):
    scheme, groups, preprocess = scheme_of(pymarl_spec(SIZES))
    scheme = EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess).scheme
    critic = critics["q_central"](scheme, make_args(learner="sac_learner", critics=2))
    fill(critic.parameters())
    fields = {"obs": th.randn(7, N, SIZES["obs_shape"]), "state": th.randn(7, SIZES["state_shape"])}
    taken, inputs = th.rand(7, N, SIZES["n_actions"]), critic.layers.first(slice(None))[1].size(2)
    half = -(-7 * N // 2)
    rows = [(1, half, inputs), (1, 7 * N - half, inputs)]
    require_same(critic, lambda: critic(fields.__getitem__, taken), calls, rows)


@pytest.mark.parametrize("changes", [{}, {"critic_all_obs": True, "critic_agent_id": True}])
def test_critics_of_states(calls, changes):
    scheme, *_ = scheme_of(pymarl_spec(SIZES))
    critic = critics["state"](scheme, make_args(learner="ppo_learner", **changes))
    fill(critic.parameters())
    state, obs = th.randn(5, 3, SIZES["state_shape"]), th.randn(5, 3, N, SIZES["obs_shape"])
    shapes = [(3, *state.shape[1:]), (2, *state.shape[1:])]
    require_same(critic, lambda: critic.values({"state": state, "obs": obs}.__getitem__, 2), calls, shapes)


@pytest.mark.parametrize("name", ["ff", "rnn", "lstm"])
@pytest.mark.parametrize("shared", [True, False])
def test_sequences_of_agents(calls, name, shared):
    """Of two to five episodes that end at different steps; those of one episode's agents stay together."""
    agent = agents[name](4, make_args(agent=name))
    if not shared:
        unshare(agent, N, "agents")
    fill(agent.parameters())
    sizes = [5 * N, 5 * N, 3 * N, N]
    hidden = agent.init_hidden()
    hidden = (
        th.randn(5, N, hidden.size(-1))
        if isinstance(hidden, th.Tensor)
        else {key: th.randn(5, N, x.size(-1)) for key, x in hidden.items()}
        if isinstance(hidden, dict)
        else tuple(th.randn(5, N, x.size(-1)) for x in hidden)
    )
    inputs = RowInputs(th.randn(sum(sizes), 4))

    def compute():
        outputs, memory = divided_sequences(agent, agent.encode(inputs), sizes, hidden, together=N)
        memory = list(memory.values()) if isinstance(memory, dict) else memory
        return (outputs, *(memory if isinstance(memory, tuple | list) else (memory,)))

    width = agent.encode(inputs).size(-1)
    require_same(agent, compute, calls, [(10 * N, width), (4 * N, width)])


def test_what_is_not_divided(calls):
    network = nn.Linear(3, 2)
    with dividing(CPUS):
        assert is_dividing()
        assert divided(network, th.ones(1, 3)).shape == (1, 2)
        assert divided(lambda x: x, "rows") == "rows"
        with dividing(()):
            assert divided(network, th.ones(8, 3)).shape == (8, 2)
    assert not is_dividing()
    assert divided(network, th.ones(8, 3)).shape == (8, 2)
    assert calls == []
