"""Memories that are trees of tensors: an agent with an LSTM and a step count, wherever memories go."""

import pytest
import torch as th

from cli.compose import compose_config
from components.episode_buffer import EpisodeBatch
from controllers.basic_controller import BasicMAC
from controllers.hidden_states import fields_before, has_rows, memory_before, reset_where
from controllers.unroll import BatchUnroll, unroll_mac
from helpers import fill, make_args, random_batch
from modules.agents import REGISTRY
from modules.agents.agent import Agent
from small_training import SETTINGS, assembled, preset_on_lbf, suited
from utils.config.merging import config_names
from utils.tensors.schemes import is_rollout
from utils.tensors.tensor_trees import leaves

TREE = {"lstm": (th.arange(12.0).view(6, 2), th.arange(6.0).view(6, 1)), "age": th.arange(24.0).view(3, 2, 2, 2)}


class LSTMAgent(Agent):
    """A cell of an LSTM, and how many steps it has seen, which it adds to its values."""

    def __init__(self, input_shape, args):
        super().__init__()
        self.size = 4
        self.fc1 = th.nn.Linear(input_shape, 5)
        self.cell = th.nn.LSTMCell(5, self.size)
        self.fc2 = th.nn.Linear(self.size, args.n_actions)

    def init_hidden(self):
        zeros = self.fc1.weight.new_zeros
        return {"lstm": (zeros(1, self.size), zeros(1, self.size)), "age": zeros(1, 1)}

    def encode(self, inputs):
        return th.relu(inputs.through(self.fc1))

    def sequence(self, encoded, sizes, hidden_state):
        (h, c), age = (x.reshape(-1, self.size) for x in hidden_state["lstm"]), hidden_state["age"].reshape(-1, 1)
        states = []
        for x in encoded.split(sizes):
            h, c = self.cell(x, (h[: len(x)], c[: len(x)]))
            age = age[: len(x)] + 1
            states.append((h, c, age))
        h, c, age = (th.cat(parts) for parts in zip(*states, strict=True))
        return self.fc2(h) + age, {"lstm": (h, c), "age": age}

    def forward(self, inputs, hidden_state):
        (h, c), age = (x.reshape(-1, self.size) for x in hidden_state["lstm"]), hidden_state["age"].reshape(-1, 1)
        h, c = self.cell(th.relu(self.fc1(inputs)), (h, c))
        return self.fc2(h) + age + 1, {"lstm": (h, c), "age": age + 1}

    supports_packing = True


class StepwiseLSTMAgent(LSTMAgent):
    supports_packing = False


@pytest.fixture
def lstm(monkeypatch):
    monkeypatch.setattr(REGISTRY, "_entries", dict(REGISTRY._entries))
    REGISTRY["lstm"], REGISTRY["stepwise_lstm"] = LSTMAgent, StepwiseLSTMAgent


def make_mac(batch, agent, seed=0):
    mac = BasicMAC(batch.scheme, batch.groups, make_args(agent=agent))
    fill(mac.parameters(), seed=seed, scale=1.0)
    return mac


def close(first, second):
    assert set(first) == {"lstm", "age"}
    th.testing.assert_close(first["lstm"], second["lstm"])
    th.testing.assert_close(first["age"], second["age"])


def test_an_lstm_is_unrolled_as_it_steps(lstm):
    batch = random_batch([3, 5, 1], 7)
    mac, stepwise = make_mac(batch, "lstm"), make_mac(batch, "stepwise_lstm")
    outputs, hidden = mac.unroll(batch)
    expected, states = unroll_mac(stepwise, batch)
    th.testing.assert_close(outputs, expected)
    close(hidden, states)
    assert hidden["age"].shape == (3, 7, 2, 1)
    assert hidden["age"][0, :, 1, 0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    close(mac.hidden_states, stepwise.hidden_states)
    unroll = BatchUnroll(batch, mac)
    assert unroll.packed
    assert not BatchUnroll(batch, stepwise).packed
    filled = batch["filled"].unsqueeze(-1)
    th.testing.assert_close(unroll.spread(unroll.outputs(mac)), expected * filled)


def test_a_rollout_starts_with_the_tree_from_before(lstm):
    """Two episodes in one entry: the second one starts within it."""
    whole = random_batch([6, 6], 8)
    mac = make_mac(whole, "lstm")
    before, states = whole[:, :2], []
    mac.init_hidden(2)
    for t in range(2):
        mac.forward(before, t)
        states.append(mac.hidden_states)
    fields = fields_before(mac.hidden_states, 2, 2)
    assert {key: tuple(x.shape) for key, x in fields.items()} == {
        "hidden_before/lstm/0": (2, 2, 4),
        "hidden_before/lstm/1": (2, 2, 4),
        "hidden_before/age": (2, 2, 1),
    }
    chunk = whole[:, 2:6]
    fields["last_actions_before"] = whole["actions_onehot"][:, 1]
    for key, value in fields.items():
        chunk.scheme[key] = {"vshape": tuple(value.shape[2:]), "group": "agents", "episode_const": True}
        chunk.data.episode_data[key] = value.detach()
    assert is_rollout(chunk)
    assert not is_rollout(whole)
    for name in ("lstm", "stepwise_lstm"):
        unroll = BatchUnroll(chunk, make_mac(whole, name))
        assert unroll.packed == (name == "lstm")
        th.testing.assert_close(unroll.spread(unroll.outputs(mac)), mac.unroll(whole)[0][:, 2:6])
    chunk["terminated"][0, 0] = 1  # step 1 closes the episode, step 2 is the first of the next
    fresh = mac.unroll(whole[:, 4:6])[0]
    for name in ("lstm", "stepwise_lstm"):
        unroll = BatchUnroll(chunk, make_mac(whole, name))
        outputs = unroll.spread(unroll.outputs(make_mac(whole, name)))
        th.testing.assert_close(outputs[0, 2:], fresh[0])
        th.testing.assert_close(outputs[1], mac.unroll(whole)[0][1, 2:6])


RECURRENT = [name for name in REGISTRY if REGISTRY.entry(name).traits.get("memory") and name != "conv"]


@pytest.mark.parametrize("agent", RECURRENT)
def test_recurrent_kernels_of_gpus_get_memory_of_its_own(agent, monkeypatch):
    """cuDNN refuses views of another shape, such as one agent's state for all."""
    units = bool(REGISTRY.entry(agent).traits.get("needs_entities"))
    env_args = {"observation": "entities"} if units else {}
    traits = REGISTRY.entry(agent).traits
    # those that go with parts of their own
    bound = traits.get("controllers") or "q_learner" not in traits.get("learners", ("q_learner",))
    presets = sorted(name for name in config_names("algs") if preset_on_lbf(name)["agent"] == agent) if bound else []
    config = compose_config(next(iter(presets), "iql"), "skirmish").config
    changes = {"agent": agent, "env_args": env_args, "obs_last_action": not units, "obs_agent_id": not units}
    with assembled(suited(config, {**SETTINGS, **changes})) as parts:
        mac, given = parts.mac, []
        sequence = mac.agent.sequence
        monkeypatch.setattr(
            mac.agent, "sequence", lambda x, sizes, state: (given.append(state), sequence(x, sizes, state))[1]
        )
        batch = parts.runner.run()
        mac.init_hidden(batch.batch_size)
        BatchUnroll(batch, mac).outputs(mac)
    for state in (mac.hidden_states, *given):
        assert all(leaf.is_contiguous() for _, leaf in leaves(state))
    assert given


def test_memories_are_reset_by_episode_or_by_agent():
    initial = {"lstm": (th.full((6, 2), -1.0), th.full((6, 1), -2.0)), "age": th.full((3, 2, 2, 2), -3.0)}
    by_episode = reset_where(th.tensor([False, True, False]), TREE, initial)
    assert by_episode["lstm"][0].tolist() == [[0, 1], [2, 3], [-1, -1], [-1, -1], [8, 9], [10, 11]]
    assert by_episode["lstm"][1].flatten().tolist() == [0, 1, -2, -2, 4, 5]
    assert by_episode["age"][1].eq(-3).all()
    assert th.equal(by_episode["age"][[0, 2]], TREE["age"][[0, 2]])
    by_agent = reset_where(th.tensor([[True, False], [False, False], [False, True]]), TREE, initial)
    assert by_agent["lstm"][1].flatten().tolist() == [-2, 1, 2, 3, 4, -2]
    assert by_agent["age"][0, 0].eq(-3).all()
    assert th.equal(by_agent["age"][0, 1], TREE["age"][0, 1])


def test_a_memory_comes_back_from_the_fields_that_keep_it():
    scheme = {"obs": {"vshape": 1}}
    batch = EpisodeBatch(scheme, {}, 3, 1)
    for key, value in fields_before(TREE, 3, 2).items():
        batch.scheme[key] = {}
        batch.data.episode_data[key] = value
    back = memory_before(batch, TREE)
    assert isinstance(back["lstm"], tuple)
    close(back, TREE)


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [
        (TREE, True),
        (th.zeros(6, 2), True),
        (th.zeros(5, 2), False),
        ((th.zeros(6, 1), th.zeros(5, 1)), False),
        ([th.zeros(6, 1)], False),
        ({}, False),
        (None, False),
    ],
)
def test_valid_memories_of_six_agents(hidden, expected):
    assert has_rows(hidden, 6) is expected
