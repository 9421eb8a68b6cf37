"""The agent over units: what its outputs depend on, and that its weights fit every map."""

from types import SimpleNamespace

import pytest
import torch as th

from envs.skirmish.meaning import of_units
from modules.agents.entity_attention_agent import EntityAttentionAgent
from utils.errors import ConfigError

OWN, ALLY, ENEMY = 9, 6, 7


def _shapes(allies=2, enemies=3):
    return {"obs/own": (OWN,), "obs/allies": (allies, ALLY), "obs/enemies": (enemies, ENEMY)}


def _meaning(allies=2, enemies=3, heals=0):
    parts = {key: (shape, [f"f{i}" for i in range(shape[-1])]) for key, shape in _shapes(allies, enemies).items()}
    return of_units(parts, enemies, heals, ())


def _agent(allies=2, enemies=3, more=0, **args):
    th.manual_seed(0)
    heals = allies + 1 if more > 1 else 0
    meaning = _meaning(allies, enemies, heals)
    args = SimpleNamespace(
        n_actions=6 + enemies + more, meaning=meaning, rnn_hidden_dim=8, **({"d_model": 16, "d_qk": 4} | args)
    )
    return EntityAttentionAgent(_shapes(allies, enemies), args)


def _units(agents=5, allies=2, enemies=3, seed=1):
    th.manual_seed(seed)
    seen = {key: th.randn(agents, *shape) for key, shape in _shapes(allies, enemies).items()}
    for key in ("obs/allies", "obs/enemies"):
        seen[key][..., 0] = (th.rand(seen[key].shape[:2]) < 0.7).float()
        seen[key] *= seen[key][..., :1]
    return SimpleNamespace(observations=seen, others=None)


def _outputs(agent, inputs):
    with th.no_grad():
        return agent(inputs, agent.init_hidden().expand(len(inputs.observations["obs/own"]), -1))[0]


@pytest.mark.parametrize("use_rnn", [True, False])
def test_enemies_change_places_with_their_actions(use_rnn):
    agent, inputs = _agent(use_rnn=use_rnn), _units()
    before = _outputs(agent, inputs)
    assert before.shape == (5, 9)
    inputs.observations["obs/enemies"] = inputs.observations["obs/enemies"][:, [2, 0, 1]]
    inputs.observations["obs/allies"] = inputs.observations["obs/allies"].flip(1)
    assert th.allclose(_outputs(agent, inputs), before[:, [0, 1, 2, 3, 4, 5, 8, 6, 7]], atol=1e-5)


def test_the_same_weights_on_another_map():
    """With more units than before, of which none is seen, the same outputs; and each unit that is seen matters."""
    small, large = _agent(), _agent(allies=4, enemies=6)
    large.load_state_dict(small.state_dict())
    inputs, more = _units(), _units(allies=4, enemies=6)
    more.observations["obs/own"] = inputs.observations["obs/own"]
    for key in ("obs/allies", "obs/enemies"):
        count = inputs.observations[key].shape[1]
        more.observations[key] = th.zeros_like(more.observations[key])
        more.observations[key][:, :count] = inputs.observations[key]
    expected, found = _outputs(small, inputs), _outputs(large, more)
    assert th.allclose(found[:, :9], expected, atol=1e-5)
    assert not found[:, 9:].any()
    for key in ("obs/allies", "obs/enemies"):
        more.observations[key][:, -1] = 1
        changed = _outputs(large, more)
        assert (changed - found).abs().amax(1).min() > 1e-4
        found = changed


def test_nobody_is_seen():
    agent, inputs = _agent(), _units()
    for key in ("obs/allies", "obs/enemies"):
        inputs.observations[key].zero_()
    outputs = _outputs(agent, inputs)
    assert outputs[:, :6].isfinite().all() and not outputs[:, 6:].any()


@pytest.mark.parametrize("use_rnn", [True, False])
def test_sequences_are_steps_one_after_the_other(use_rnn):
    agent, inputs = _agent(use_rnn=use_rnn, more=1), _units(agents=6)
    hidden = th.randn(3, 8)
    outputs, memory = agent.sequence(agent.encode(inputs), [3, 2, 1], hidden)
    assert outputs.shape == (6, 10)
    for rows in (slice(0, 3), slice(3, 5), slice(5, 6)):
        step = SimpleNamespace(observations={key: x[rows] for key, x in inputs.observations.items()}, others=None)
        alone, hidden = agent(step, hidden[: rows.stop - rows.start])
        assert th.allclose(outputs[rows], alone, atol=1e-5)
        assert th.allclose(memory[rows], hidden, atol=1e-5)


def test_every_weight_learns():
    agent, inputs = _agent(more=1), _units(agents=20)
    agent(inputs, th.randn(20, 8))[0].square().sum().backward()
    assert [name for name, w in agent.named_parameters() if w.grad is None or not w.grad.any()] == []


@pytest.mark.parametrize(
    ("shapes", "args", "message"),
    [
        (_shapes() | {"others": (3,)}, {}, "set obs_last_action=False and obs_agent_id=False"),
        (_shapes(enemies=9), {}, "actions without a target first, and then one for each of the 9 enemies"),
        (_shapes(), {"meaning": None}, r"mean: it has no meaning\(\)"),
        (_shapes(), {"normalise_observations": True}, "set normalise_observations=False"),
        (_shapes(), {"share_params": False}, "set share_params=True"),
        (_shapes(), {"d_model": 15}, "n_head=2: it must divide d_model=15"),
    ],
)
def test_refusals(shapes, args, message):
    with pytest.raises(ConfigError, match=message):
        EntityAttentionAgent(
            shapes, SimpleNamespace(**{"n_actions": 9, "rnn_hidden_dim": 8, "meaning": _meaning(), **args})
        )


@pytest.mark.parametrize("more", [0, 1])
def test_allies_change_places_with_healing_them(more):
    """Actions that heal come after the attacks: one for each ally, and oneself, which has no key; then a value."""
    healing, plain, inputs = _agent(more=3 + more), _agent(more=more), _units()
    healing.load_state_dict(plain.state_dict())
    before = _outputs(healing, inputs)
    assert before.shape == (5, 12 + more) and not before[:, 11].any()
    without = _outputs(plain, inputs)
    assert th.equal(before[:, :9], without[:, :9]) and th.equal(before[:, 12:], without[:, 9:])
    seen = inputs.observations["obs/allies"][..., 0] > 0
    assert th.equal(before[:, 9:11] != 0, seen) and seen.any() and not seen.all()
    inputs.observations["obs/allies"] = inputs.observations["obs/allies"].flip(1)
    order = [*range(9), 10, 9, *range(11, 12 + more)]
    assert th.allclose(_outputs(healing, inputs), before[:, order], atol=1e-5)
