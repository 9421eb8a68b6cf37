"""Values from the state's entities: written out agent by agent, and weights that fit any number of them."""

import pytest
import torch as th

from helpers import fill, make_args
from modules.critics.state_entities import StateEntitiesCritic
from utils.meanings import AGENT, ENEMY, LAST_ACTIONS, SURROUNDINGS, Columns, Meaning


def _meaning(agents=2, enemies=3):
    state = Columns("state")
    state.add(ENEMY, ["x", "health"], enemies, there="health")
    state.add(SURROUNDINGS, ["time"])
    state.add(AGENT, ["health", "x", "y"], agents, there="health")
    state.add(LAST_ACTIONS, ["wait", "attack"], agents)
    return Meaning((), (), tuple(state.groups))


def _critic(agents=2, enemies=3, **changes):
    size = 2 * enemies + 1 + 5 * agents
    scheme = {"obs": {"vshape": (4,), "group": "agents"}, "state": {"vshape": (size,)}}
    settings = {"critic_pool_dim": 3, "critic_hidden_dim": 5, "critic_agent_id": False, **changes}
    meaning = _meaning(agents, enemies)
    args = make_args(critic="state_entities", n_agents=agents, state_shape=size, meaning=meaning, **settings)
    critic = StateEntitiesCritic(scheme, args)
    fill(critic.parameters(), seed=4)
    return critic


def _states(agents=2, enemies=3, rows=6):
    """`[2, rows / 2, S]`; some of the units are dead, in the first state all."""
    th.manual_seed(2)
    states = th.randn(rows, 2 * enemies + 1 + 5 * agents)
    healths = [*range(1, 2 * enemies, 2), *range(2 * enemies + 1, 2 * enemies + 1 + 3 * agents, 3)]
    states[:, healths] = (th.rand(rows, len(healths)) > 0.4).float()
    states[0, healths] = 0
    return states.view(2, rows // 2, -1)


def _affine(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_values_written_out(shared, with_id):
    critic, states = _critic(share_critic_params=shared, critic_agent_id=with_id), _states()
    found, weights = critic.values({"state": states}.__getitem__, 2), critic.state_dict()
    assert found.shape == (2, 3, 2)
    for i in range(2):
        key = "" if shared else f"critics.{i}."
        w = {k.removeprefix(key): v for k, v in weights.items() if k.startswith(key)}
        for b, t in th.cartesian_prod(th.arange(2), th.arange(3)).tolist():
            s = states[b, t]
            agents, enemies = [s[7 + 3 * k : 10 + 3 * k] for k in range(2)], [s[2 * e : 2 * e + 2] for e in range(3)]
            parts = [agents[i]]
            for kind, rows in (("agent", [x for x in agents if x[0] > 0]), ("enemy", [x for x in enemies if x[1] > 0])):
                embedded = [_affine(w, f"pool.embedding.of_{kind}", x).relu() for x in rows] or [th.zeros(3)]
                largest = th.stack(embedded).amax(0)
                parts += [sum(embedded) / len(embedded), largest, th.tensor([len(rows) + 1.0]).log()]
            x = th.cat([*parts, th.eye(2)[i]] if with_id else parts)
            for layer in "12":
                x = _affine(w, f"fc{layer}", x).relu()
            th.testing.assert_close(found[b, t, i], _affine(w, "fc3", x)[0])


def test_rows_without_an_entity_change_no_value():
    """As of a map with fewer units than the arrays have rows; the same weights fit both."""
    states, small, large = _states(), _critic(), _critic(4, 5)
    large.load_state_dict(small.state_dict())
    padded = th.zeros(2, 3, 10 + 1 + 20)
    padded[..., :6], padded[..., 10:17] = states[..., :6], states[..., 6:13]
    values = large.values({"state": padded}.__getitem__, 2)
    th.testing.assert_close(values[..., :2], small.values({"state": states}.__getitem__, 2))


def test_what_all_see_may_be_added():
    critic, states, obs = _critic(critic_all_obs=True), _states(), th.randn(2, 3, 2, 4)
    fields = {"state": states, "obs": obs}
    found = critic.values(fields.__getitem__, 2)
    assert not th.equal(found, critic.values((fields | {"obs": obs + 1}).__getitem__, 2))
    assert not th.equal(found, critic.values((fields | {"state": states + 1}).__getitem__, 2))
