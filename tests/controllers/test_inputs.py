"""Agents' inputs, laid out from the scheme: fields of several kinds, at one step, at all, and without padding."""

import numpy as np
import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from components.packing import PackedSteps
from components.transforms import OneHot
from controllers.basic_controller import BasicMAC
from controllers.inputs import AgentInputs
from controllers.unroll import BatchUnroll, behind_a_step, unroll_mac
from helpers import fill, make_args, random_batch
from modules.agents import REGISTRY
from modules.agents.agent import Agent
from utils.errors import ConfigError
from utils.tensors.schemes import field_before

AGENTS = {"group": "agents"}
SCHEME = {
    "state": {"vshape": 4, "kind": "observation"},
    "obs/camera": {"vshape": (2, 3, 1), "dtype": th.uint8, "kind": "observation", **AGENTS},
    "avail_actions": {"vshape": 3, "dtype": th.int, "kind": "mask", **AGENTS},
    "obs/vector": {"vshape": 5, "kind": "observation", **AGENTS},
    "obs/flags": {"vshape": 2, "dtype": th.bool, "kind": "observation", **AGENTS},
    "actions/gear": {"vshape": 1, "dtype": th.long, "kind": "action", **AGENTS},
    "actions/signal": {"vshape": 1, "dtype": th.long, "kind": "action", **AGENTS},
    "actions/steering": {"vshape": 2, "kind": "action", **AGENTS},
    "reward": {"vshape": 1, "kind": "outcome"},
    "terminated": {"vshape": 1, "dtype": th.uint8, "kind": "outcome"},
}
PREPROCESS = {f"actions/{key}": (f"actions/{key}_onehot", [OneHot(n)]) for key, n in (("gear", 3), ("signal", 2))}
SIZE = 6 + 5 + 2 + 3 + 2 + 2 + 2  # camera, vector, flags, gear, signal, steering, two agents


def many_fields(lengths, steps, seed=0):
    """Episodes of random values in all fields but `state`, zeros in padding."""
    rng = np.random.default_rng(seed)
    batch = EpisodeBatch(SCHEME, {"agents": 2}, len(lengths), steps, preprocess=PREPROCESS)
    for entry, length in enumerate(lengths):
        for t in range(length + 1):
            shape = lambda key: batch[key].shape[2:]  # noqa: E731
            values = {
                "obs/camera": rng.integers(256, size=shape("obs/camera")),
                "obs/vector": rng.normal(size=shape("obs/vector")),
                "obs/flags": rng.integers(2, size=shape("obs/flags")),
                "avail_actions": np.ones(shape("avail_actions")),
                "actions/gear": rng.integers(3, size=(2, 1)),
                "actions/signal": rng.integers(2, size=(2, 1)),
                "actions/steering": rng.normal(size=(2, 2)),
                "terminated": t == length - 1,
            }
            batch.update(values, bs=entry, ts=t)
    return batch


def seen_by(batch, row, t, agent, first=None):
    """The inputs of one agent, field by field; `first`: its last actions at step 0."""
    parts = [batch["obs/camera"][row, t, agent].flatten().float() / 255]
    parts += [batch["obs/vector"][row, t, agent], batch["obs/flags"][row, t, agent].float()]
    if t > 0:
        gear, signal = (batch[f"actions/{key}"][row, t - 1, agent, 0] for key in ("gear", "signal"))
        parts += [th.eye(3)[gear], th.eye(2)[signal], batch["actions/steering"][row, t - 1, agent]]
    else:
        parts.append(th.zeros(7) if first is None else first)
    return th.cat([*parts, th.eye(2)[agent]])


@pytest.mark.parametrize("t", [0, 2])
def test_all_kinds_of_fields_at_one_step(t):
    batch = many_fields([3, 5], 7)
    inputs = AgentInputs(batch.scheme, make_args())
    assert inputs.size == SIZE
    assert inputs.shapes == {"obs/camera": (2, 3, 1), "obs/vector": (5,), "obs/flags": (2,), "others": (9,)}
    rows = inputs.at(batch, t)
    assert rows.shape == (4, SIZE)
    assert rows.dtype == th.float32
    for row in range(2):
        for agent in range(2):
            th.testing.assert_close(rows[2 * row + agent], seen_by(batch, row, t, agent))
    th.testing.assert_close(_rows_of(inputs.parts_at(batch, t)), rows)


def test_all_steps_at_once_and_the_filled_ones_are_the_same():
    batch = many_fields([3, 5, 1], 7)
    inputs = AgentInputs(batch.scheme, make_args())
    by_steps = th.stack([inputs.at(batch, t) for t in range(7)])
    assert th.equal(inputs.all_steps(batch), by_steps)
    assert th.equal(_rows_of(inputs.all_parts(batch)).view(7, 6, SIZE), by_steps)
    steps = PackedSteps.of(batch["filled"])
    packed = _rows_of(inputs.packed(batch, steps).parts).unflatten(0, (-1, 2))
    assert th.equal(packed, steps.take(by_steps.view(7, 3, 2, SIZE).transpose(0, 1)))


def _rows_of(parts):
    observations = [x.flatten(1) for x in parts.observations.values()]
    return th.cat([*observations, *([] if parts.others is None else [parts.others])], dim=1)


@pytest.mark.parametrize("last_action", [True, False])
@pytest.mark.parametrize("agent_id", [True, False])
def test_a_layer_of_the_parts_is_the_layer_of_them_side_by_side(last_action, agent_id):
    batch = many_fields([3, 5], 7)
    inputs = AgentInputs(batch.scheme, make_args(obs_last_action=last_action, obs_agent_id=agent_id))
    assert inputs.size == SIZE - 7 * (not last_action) - 2 * (not agent_id)
    layer = th.nn.Linear(inputs.size, 4)
    fill(layer.parameters())
    th.testing.assert_close(inputs.parts_at(batch, 2).through(layer), layer(inputs.at(batch, 2)))


def test_agents_see_the_mean_of_the_others_last_actions():
    """One-hot of two others of three, in every form of a batch; zeros at the first step."""
    batch = random_batch([4, 2], 6, n_agents=3)
    inputs = AgentInputs(batch.scheme, make_args(n_agents=3, obs_mean_action=True))
    own, acted = batch["obs"].size(-1), batch["actions_onehot"].float()
    n_actions = acted.size(-1)
    assert inputs.size == own + 2 * n_actions + 3
    steps = PackedSteps.of(batch["filled"])
    spread = steps.spread(_rows_of(inputs.packed(batch, steps).parts).unflatten(0, (-1, 3)))
    for t in range(4):
        rows = inputs.at(batch, t).view(2, 3, -1)
        for agent in range(3):
            others = [other for other in range(3) if other != agent]
            expected = sum(acted[0, t - 1, other] for other in others) / 2 if t else th.zeros(n_actions)
            th.testing.assert_close(rows[0, agent, own + n_actions : own + 2 * n_actions], expected)
        th.testing.assert_close(inputs.all_steps(batch)[t].view(2, 3, -1), rows)
        th.testing.assert_close(spread[0, t], rows[0])


def test_one_agent_sees_no_mean_and_agents_that_learn_in_turn_are_refused():
    batch = random_batch([4], 5)
    alone = make_args(n_agents=1, obs_mean_action=True)
    assert AgentInputs(batch.scheme, alone).size == AgentInputs(batch.scheme, make_args(n_agents=1)).size
    with pytest.raises(ConfigError, match=r"^obs_mean_action=True: agents that are updated one after another"):
        AgentInputs(batch.scheme, make_args(obs_mean_action=True)).of_agent(0)


def test_inputs_of_one_step_stay_as_they_are_when_the_next_are_made():
    batch = random_batch([4], 5)
    inputs = AgentInputs(batch.scheme, make_args())
    with th.no_grad():
        first = inputs.at(batch, 1)
        kept = first.clone()
        inputs.at(batch, 2)
    assert th.equal(first, kept)


def rollout_of(batch):
    """Steps 2 to 5 of whole episodes as a rollout; in entry 0 an episode starts at step 4 of the whole."""
    chunk = batch[:, 2:6]
    keys = [f"actions/{key}" for key in ("gear_onehot", "signal_onehot", "steering")]
    assert [field_before(key) for key in keys] == [f"{key}_before" for key in keys]
    for key in keys:
        chunk.scheme[field_before(key)] = {"vshape": batch[key].shape[3:], "episode_const": True, **AGENTS}
        chunk.data.episode_data[field_before(key)] = batch[key][:, 1]
    chunk.scheme["hidden_before"] = {"vshape": (8,), "episode_const": True, **AGENTS}
    chunk.data.episode_data["hidden_before"] = th.zeros(batch.batch_size, 2, 8)
    chunk["terminated"].zero_()
    chunk["terminated"][0, 0] = 1
    return chunk


def test_a_rollout_knows_the_actions_before_it_and_none_before_an_episode():
    whole = many_fields([7, 7], 8)
    chunk = rollout_of(whole)
    inputs = AgentInputs(chunk.scheme, make_args())
    steps = PackedSteps.of_rollout(chunk["filled"], th.tensor([[False, False, True, False], [False] * 4]))
    packed = _rows_of(inputs.packed(chunk, steps).parts).unflatten(0, (-1, 2))
    spread = steps.spread(packed)
    longer = behind_a_step(chunk, th.tensor([[False, False, True, False], [False] * 4]))
    for row in range(2):
        for t in range(4):
            for agent in range(2):
                expected = seen_by(whole, row, t + 2, agent)
                if (row, t) == (0, 2):
                    expected[13:20] = 0
                th.testing.assert_close(spread[row, t, agent], expected)
                th.testing.assert_close(inputs.at(longer, t + 1)[2 * row + agent], expected)


class PictureAgent(Agent):
    """A convolution of the camera beside a layer of everything else: it writes two methods."""

    takes_parts = True

    def __init__(self, shapes, args):
        super().__init__()
        self.shapes = shapes
        _, _, channels = shapes["obs/camera"]
        self.look = th.nn.Conv2d(channels, 4, kernel_size=2)
        self.others = th.nn.Linear(shapes["obs/vector"][0] + shapes["others"][0], 4)
        self.memory = th.nn.GRUCell(4 * 1 * 2 + 4, 8)
        self.out = th.nn.Linear(8, args.n_actions)

    def init_hidden(self):
        return self.out.weight.new_zeros(1, 8)

    def encode(self, inputs):
        pictures = inputs.observations["obs/camera"]
        assert pictures.shape[1:] == (2, 3, 1)
        assert pictures.max() <= 1
        vectors = th.cat([inputs.observations["obs/vector"], inputs.others], dim=1)
        return th.cat([self.look(pictures.movedim(3, 1)).flatten(1), self.others(vectors)], dim=1)

    def sequence(self, encoded, sizes, hidden_state):
        hidden, states = hidden_state.reshape(-1, 8), []
        for x in encoded.split(sizes):
            hidden = self.memory(x, hidden[: len(x)])
            states.append(hidden)
        return self.out(th.cat(states)), th.cat(states)


@pytest.mark.parametrize("agent", ["rnn", "ff", "rnn_layernorm", "picture"])
def test_agents_take_any_fields(agent, monkeypatch):
    """Packed, all at once and by steps; a rollout too."""
    monkeypatch.setitem(REGISTRY._entries, "picture", None)
    REGISTRY["picture"] = PictureAgent
    batch = many_fields([3, 5], 7)
    mac = BasicMAC(batch.scheme, batch.groups, make_args(agent=agent, rnn_hidden_dim=8))
    fill(mac.parameters())
    mac.init_hidden(2)
    by_steps = th.stack([mac.forward(batch, t) for t in range(7)], dim=1)
    th.testing.assert_close(mac.unroll(batch)[0], by_steps)
    unroll = BatchUnroll(batch, mac)
    assert unroll.packed
    th.testing.assert_close(unroll.spread(unroll.outputs(mac)), by_steps * batch["filled"].unsqueeze(-1))
    chunk = rollout_of(many_fields([7, 7], 8))
    unroll = BatchUnroll(chunk, mac)
    th.testing.assert_close(unroll.spread(unroll.outputs(mac)), unroll_mac(mac, chunk)[0])
    batch["obs/camera"][0, 1] = 255 - batch["obs/camera"][0, 1]
    assert not th.allclose(mac.unroll(batch)[0][0, 1], by_steps[0, 1])
