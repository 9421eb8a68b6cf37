"""Inputs of absent agents change no update, nor do those of ended ones of a learner that does not mix them."""

import numpy as np
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.coma_learner import COMALearner
from learners.pqn_learner import PQNLearner
from learners.q_learner import QLearner
from learners.wqmix_learner import WQMIXLearner
from utils.meanings import AGENT, ENEMY, Columns, Meaning

LEARNERS = {
    "iql": (QLearner, {"mixer": None}),
    "iql td_lambda": (QLearner, {"mixer": None, "td_lambda": 0.5}),
    "pqn": (PQNLearner, {"mixer": None}),
    "coma": (COMALearner, {"agent_output_type": "pi_logits", "action_selector": "multinomial"}),
}
UNITS = Columns("state")
UNITS.add(AGENT, "x", rows=2)
UNITS.add(ENEMY, "x", rows=2)
STATE = Meaning((), (), tuple(UNITS.groups))
MIXED = {
    "vdn": (QLearner, {"mixer": "vdn"}),
    "qmix td_lambda": (QLearner, {"mixer": "qmix", "td_lambda": 0.5}),
    "qplex": (QLearner, {"mixer": "qplex"}),
    "shaq": (QLearner, {"mixer": "shaq"}),
    "linear": (QLearner, {"mixer": "linear"}),
    "flex_qmix": (QLearner, {"mixer": "flex_qmix", "meaning": STATE}),
    "transf": (QLearner, {"mixer": "transf", "transformer_embed_dim": 8, "meaning": STATE}),
    "wqmix": (WQMIXLearner, {"mixer": "qmix"}),
    "pqn qmix": (PQNLearner, {"mixer": "qmix"}),
}
FIELD = {"vshape": (1,), "dtype": th.uint8, "group": "agents"}


def weights_after(name, fields, disturbed, agent="ff"):
    """Of all networks, after an update from an episode of 4 steps.

    fields: name -> values of agent 1, by step; `disturbed`: the steps at which agent 1 sees something else.
    """
    kind, changes = (LEARNERS | MIXED)[name]
    batch = random_batch([4], 6)
    for key, values_of_one in fields.items():
        batch.scheme[key] = FIELD
        values = th.full((1, 6, 2, 1), key == "present", dtype=th.uint8)
        values[0, :, 1, 0] = th.tensor(values_of_one)
        batch.data.transition_data[key] = values
    batch["obs"][0, disturbed, 1] += 3
    # an agent without memory, because a place may have memories of whoever was there before
    args = make_args(agent=agent, rnn_hidden_dim=8, lr=0.1, **changes)
    mac = BasicMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    learner = kind(mac, batch.scheme, RecordingLogger(), args)
    for network in (*learner.networks.values(), *learner.target_networks.values()):
        fill(network.parameters(), seed=1)
    np.random.seed(0)
    learner.train(batch, 10, 1)
    parts = [mac.agent, *learner.networks.values()]
    return th.cat([p.detach().flatten() for part in parts for p in part.parameters()])


CASES = [
    ({"present": [1, 1, 0, 0, 0, 0]}, [2, 3]),
    ({"present": [0, 0, 0, 1, 1, 0]}, [0, 1, 2]),
    ({"agents/terminated": [0, 1, 0, 0, 0, 0]}, [2]),
    ({"agents/terminated": [0, 0, 0, 1, 0, 0], "present": [1, 1, 1, 1, 0, 0]}, [4]),
]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("fields", "disturbed"), CASES)
def test_nothing_is_learned_from_agents_that_are_not_there(name, fields, disturbed):
    assert th.equal(weights_after(name, fields, disturbed), weights_after(name, fields, []))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("fields", "disturbed"), CASES[:3])
def test_of_agents_that_are_there_something_is(name, fields, disturbed):
    assert not th.equal(weights_after(name, {}, disturbed), weights_after(name, {}, []))


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize(("fields", "disturbed"), CASES[:2])
def test_mixers_count_nobody_who_is_not_there(name, fields, disturbed):
    assert th.equal(weights_after(name, fields, disturbed), weights_after(name, fields, []))
    assert not th.equal(weights_after(name, {}, disturbed), weights_after(name, {}, []))


def test_a_mixer_of_memories_has_none_of_who_is_not_there():
    fields, disturbed = CASES[0]
    after = weights_after("transf", fields, disturbed, agent="rnn")
    assert th.equal(after, weights_after("transf", fields, [], agent="rnn"))
