"""The state of learners that were written without a word about it."""

import copy

import numpy as np
import pytest
import torch as th

from checkpoints.errors import CheckpointError
from checkpoints.parts import declared_names, load_state, state_of
from checkpoints.tree import load_tree, save_tree
from helpers import fill


class Selector:
    def __init__(self):
        self.epsilon, self.schedule = 1.0, object()

    def select_action(self):
        raise NotImplementedError


class Controller:
    """As PyMARL's: no state_dict."""

    def __init__(self, width):
        self.args, self.agent, self.action_selector = object(), th.nn.Linear(2, width), Selector()
        self.hidden_states = None

    def select_actions(self):
        raise NotImplementedError


class Learner:
    """With the attributes of PyMARL's QLearner, and some that others have."""

    def __init__(self, width=3):
        self.args, self.logger, self.mac = object(), th.nn.Linear(1, 1), Controller(width)
        self.params = list(self.mac.agent.parameters())
        self.mixer = th.nn.Linear(width, 1)
        self.networks = {"mixer": self.mixer}
        self.params += list(self.mixer.parameters())
        self.target_mixer = copy.deepcopy(self.mixer)
        self.optimiser = th.optim.Adam(self.params, lr=0.1)
        self.target_mac = copy.deepcopy(self.mac)
        self.last_target_update_episode = 0
        self.log_stats_t = -1
        self.running_mean = th.zeros(2)
        self.counts = {"a": 0, "b": np.zeros(2)}

    def train(self):
        self.optimiser.zero_grad()
        out = self.mixer(self.mac.agent(th.ones(1, 2))) - self.target_mixer(self.target_mac.agent(th.ones(1, 2)))
        (out.sum() + 1).square().backward()
        self.optimiser.step()
        self.mac.hidden_states = out
        self.last_target_update_episode += 1
        self.running_mean = self.running_mean * 0.9 + out.detach().item()
        self.counts["a"] += 1
        self.counts["b"] += 0.5
        self.mac.action_selector.epsilon *= 0.9
        if self.last_target_update_episode % 2 == 0:
            self.target_mac.agent.load_state_dict(self.mac.agent.state_dict())


def everything(learner):
    tensors = [*learner.params, *learner.target_mac.agent.parameters(), *learner.target_mixer.parameters()]
    figures = (learner.last_target_update_episode, learner.counts["a"], learner.mac.action_selector.epsilon)
    return [x.tolist() for x in (*tensors, learner.running_mean, learner.counts["b"])], figures


def test_a_learner_continues_as_the_one_it_was_saved_from(tmp_path):
    first, second = Learner(), Learner()
    fill(second.params, seed=5)
    for _ in range(3):
        first.train()
    save_tree(state_of(first), tmp_path / "x")
    load_state(second, load_tree(tmp_path / "x"))
    for _ in range(3):
        assert everything(first) == everything(second)
        first.train()
        second.train()


def test_shared_parts_are_saved_once_and_passing_values_never():
    state = state_of(Learner())
    assert set(state["mixer"]) == {"weight", "bias"}
    assert "mixer" not in state.get("networks", {})
    assert not {"args", "logger", "params"} & set(state)
    assert not {"args", "hidden_states"} & set(state["mac"])


def test_its_own_state_dict_counts():
    class Own(Learner):
        def state_dict(self):
            return {"mine": 7}

        def load_state_dict(self, state):
            self.loaded = state["mine"]

    assert state_of(Own()) == {"mine": 7}
    learner = Own()
    load_state(learner, {"mine": 7})
    assert learner.loaded == 7


def test_a_part_that_does_not_fit_is_named():
    with pytest.raises(CheckpointError, match=r"Learner\.mac\.agent does not fit"):
        load_state(Learner(width=4), state_of(Learner(width=3)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"train": 5}, r"Learner keeps no state train of the kind int"),
        ({"args": 5}, r"Learner keeps no state args"),
        ({"params": 5}, r"Learner keeps no state params"),
        ({"__class__": 5}, r"Learner keeps no state __class__"),
        ({"invented": 5}, r"Learner keeps no state invented"),
        ({"log_stats_t": "5"}, r"Learner keeps no state log_stats_t of the kind str"),
        ({"log_stats_t": {"a": 1}}, r"Learner keeps no state log_stats_t of the kind dict"),
        ({"mac": {"select_actions": 5}}, r"Learner\.mac keeps no state select_actions"),
        ({"counts": {"a": [1]}}, r"Learner\.counts keeps no state a of the kind list"),
        ({"mac": 5}, r"Learner\.mac does not fit"),
    ],
)
def test_a_state_restores_only_the_parts_own_attributes(change, told):
    learner = Learner()
    with pytest.raises(CheckpointError, match=told):
        load_state(learner, {**state_of(learner), **change})
    assert callable(learner.train)


class Changing(Learner):
    steps = 0

    def __init__(self):
        super().__init__()
        self.seen, self.mean = {}, None

    def train(self):
        super().train()
        self.steps += 1
        self.seen["first"] = self.steps
        self.mean = self.running_mean.clone()
        self.late = 7
        self.mac.later = 8


def test_declared_attributes_may_change_their_kind_and_others_are_left_out():
    """A figure of the class, an entry of a dict, a number in place of None; not undeclared ones."""
    first, second, left_out = Changing(), Changing(), []
    declared = declared_names(first)
    first.train()
    state = state_of(first, declared, left_out)
    assert left_out == ["Changing.mac.later", "Changing.late"]
    load_state(second, state)
    assert (second.steps, second.seen) == (1, {"first": 1})
    assert second.mean.tolist() == first.mean.tolist()
    assert not hasattr(second, "late")
    assert not hasattr(second.mac, "later")
