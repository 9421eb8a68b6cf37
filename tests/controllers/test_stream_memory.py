"""Memories of agents that come and go: a stream's own, in acting and in learning."""

from types import SimpleNamespace

import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.parts import before_steps
from controllers.decisions import Decider, Decision
from controllers.unroll import unroll_mac

B, N = 1, 3


class Counting:
    """Its memory is the sum of what an agent has seen, its output the same."""

    supports_decide = True

    def init_hidden(self, batch_size):
        self.hidden_states = th.zeros(batch_size, N, 1)

    def forward(self, batch, t, test_mode=False):
        self.hidden_states = self.hidden_states + batch["obs"][:, t]
        return self.hidden_states

    def decide(self, batch, t, t_env, rows=slice(None), test_mode=False):
        return Decision({"actions": self.forward(batch, t)[rows].squeeze(-1).long()})


def batch_of(fields, constant=None):
    """A batch of the steps of `fields`, `[T][n]` each."""
    data = {key: th.as_tensor(steps).float().reshape(1, -1, N, 1) for key, steps in fields.items()}
    length = next(iter(data.values())).size(1)
    data |= {key: th.zeros(B, length, 1) for key in ("terminated", "truncated")} | {"filled": th.ones(B, length, 1)}
    constant = constant or {}
    scheme = {key: {"vshape": tuple(x.shape[2:])} for key, x in data.items()}
    scheme |= {key: {"vshape": tuple(x.shape[1:]), "episode_const": True} for key, x in constant.items()}
    made = SimpleNamespace(transition_data=data, episode_data=constant)
    return EpisodeBatch(scheme, {"agents": N}, B, length, data=made)


# agent 0 asks always, 1 is silent for two steps, 2 begins again in the fourth
PRESENT = [[1, 1, 1], [1, 0, 1], [1, 0, 1], [1, 1, 1]]
BEGINS = [[1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
OBS = [[1, 10, 100], [2, 777, 200], [3, 777, 300], [4, 40, 400]]


def test_who_is_silent_keeps_its_memory_and_who_begins_has_none():
    batch, mac = batch_of({"obs": OBS, "present": PRESENT, "begins": BEGINS, "actions": OBS}), Counting()
    mac.init_hidden(B)
    mac.hidden_states += 5000  # of those that had the rows before
    decider, seen = Decider(mac, batch), []
    for t in range(4):
        decider.decide(t, 0)
        seen.append(mac.hidden_states.flatten().tolist())
    assert seen == [[1, 10, 100], [3, 10, 300], [6, 10, 600], [10, 50, 400]]


def test_a_rollout_by_stream_is_unrolled_as_it_was_played():
    # steps by agent, as `components.stream_steps` makes them: the last two of agent 1 are of nobody
    obs = [[1, 10, 100], [2, 40, 200], [3, 0, 300], [4, 0, 400]]
    begins = [[0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    before = {"hidden_before": th.tensor([[[1000.0], [2000.0], [3000.0]]])}
    batch = batch_of({"obs": obs, "begins": begins, "present": [[1, 1, 1]] * 4}, before)
    outputs, memory = unroll_mac(Counting(), batch)
    assert outputs[0, :, 0, 0].tolist() == [1001, 1003, 1006, 1010]
    assert outputs[0, :2, 1, 0].tolist() == [10, 50]
    assert outputs[0, :, 2, 0].tolist() == [3100, 3300, 3600, 400]
    starts, steps = batch["begins"].bool().squeeze(3), th.tensor([1, 3])
    known = before_steps(memory, batch["hidden_before"], th.zeros(B, N, 1), starts, steps)
    assert known[0, :, :, 0].tolist() == [[1001, 10, 3100], [1006, 50, 0]]
