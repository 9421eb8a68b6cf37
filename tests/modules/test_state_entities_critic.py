"""Values from entities of the state and those that agents see: written out, and weights that fit any number."""

import pytest
import torch as th

from helpers import fill, make_args
from modules.critics.state_entities import StateEntitiesCritic
from utils.meanings import AGENT, ENEMY, LAST_ACTIONS, OWN, SURROUNDINGS, Columns, Meaning


def _meaning(agents=2, enemies=3):
    seen, state = Columns(), Columns("state")
    seen.add(OWN, ["health"])
    seen.add(ENEMY, ["x", "seen"], enemies, there="seen")
    state.add(ENEMY, ["x", "health"], enemies, there="health")
    state.add(SURROUNDINGS, ["time"])
    state.add(AGENT, ["health", "x", "y"], agents, there="health")
    state.add(LAST_ACTIONS, ["wait", "attack"], agents)
    return Meaning(tuple(seen.groups), (), tuple(state.groups))


def _critic(agents=2, enemies=3, **changes):
    size = 2 * enemies + 1 + 5 * agents
    scheme = {"obs": {"vshape": (1 + 2 * enemies,), "group": "agents"}, "state": {"vshape": (size,)}}
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


def _obs(agents=2, enemies=3):
    """`[2, 3, n, O]`; in the last step nobody is seen."""
    obs = th.randn(2, 3, agents, 1 + 2 * enemies)
    obs[..., 2::2] = (th.rand(2, 3, agents, enemies) > 0.4).float()
    obs[-1, -1, :, 2::2] = 0
    return obs


def _pooled(w, name, entities):
    """Of the lists of entities of each kind, those that are there."""
    parts = []
    for kind, rows in entities.items():
        embedded = [_affine(w, f"{name}.embedding.of_{kind}", x).relu() for x in rows] or [th.zeros(3)]
        parts += [sum(embedded) / len(embedded), th.stack(embedded).amax(0), th.tensor([len(rows) + 1.0]).log()]
    return parts


def _affine(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_values_written_out(shared, with_id):
    critic, states = _critic(share_critic_params=shared, critic_agent_id=with_id), _states()
    obs, weights = _obs(), critic.state_dict()
    found = critic.values({"state": states, "obs": obs}.__getitem__, 2)
    assert found.shape == (2, 3, 2)
    for i in range(2):
        key = "" if shared else f"critics.{i}."
        w = {k.removeprefix(key): v for k, v in weights.items() if k.startswith(key)}
        for b, t in th.cartesian_prod(th.arange(2), th.arange(3)).tolist():
            s, o = states[b, t], obs[b, t, i]
            agents, enemies = [s[7 + 3 * k : 10 + 3 * k] for k in range(2)], [s[2 * e : 2 * e + 2] for e in range(3)]
            seen = [o[1 + 2 * e : 3 + 2 * e] for e in range(3)]
            parts = [o[:1], *_pooled(w, "seen_pool", {ENEMY: [x for x in seen if x[1] > 0]}), agents[i]]
            alive = {AGENT: [x for x in agents if x[0] > 0], ENEMY: [x for x in enemies if x[1] > 0]}
            parts += _pooled(w, "pool", alive)
            x = th.cat([*parts, th.eye(2)[i]] if with_id else parts)
            for layer in "12":
                x = _affine(w, f"fc{layer}", x).relu()
            th.testing.assert_close(found[b, t, i], _affine(w, "fc3", x)[0])


def test_rows_without_an_entity_change_no_value():
    """As of a map with fewer units than the arrays have rows; the same weights fit both."""
    states, obs, small, large = _states(), _obs(), _critic(), _critic(4, 5)
    large.load_state_dict(small.state_dict())
    padded = th.zeros(2, 3, 10 + 1 + 20)
    padded[..., :6], padded[..., 10:17] = states[..., :6], states[..., 6:13]
    wide = th.zeros(2, 3, 4, 11)
    wide[:, :, :2, :7] = obs
    values = large.values({"state": padded, "obs": wide}.__getitem__, 2)
    th.testing.assert_close(values[..., :2], small.values({"state": states, "obs": obs}.__getitem__, 2))


def test_what_all_see_may_be_added():
    critic, states, obs = _critic(critic_all_obs=True), _states(), _obs()
    changed = obs.clone()
    changed[:, :, 1, 0] += 1  # what the other one sees
    one, other = (critic.values({"state": states, "obs": x}.__getitem__, 2) for x in (obs, changed))
    assert not th.equal(one[..., 0], other[..., 0])
    plain = _critic()
    one, other = (plain.values({"state": states, "obs": x}.__getitem__, 2) for x in (obs, changed))
    assert th.equal(one[..., 0], other[..., 0]) and not th.equal(one[..., 1], other[..., 1])
