"""Samples in which entities have changed places, by hand, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.permuted import permuted_entities
from components.transforms import OneHot
from utils.errors import ConfigError
from utils.meanings import ALLY, ENEMY, OWN, Action, Group, Meaning

# enemies, 3 of 2 features, whose columns are not in order; one ally; actions are not in order, either
ENEMIES, ATTACKS = ((1, 0), (4, 5), (6, 7)), (3, 1, 4)


def _meaning(attacks=ATTACKS):
    groups = (
        Group(ENEMY, "obs", ("x", "y"), ENEMIES),
        Group(ALLY, "obs", ("z",), ((8,),)),
        Group(OWN, "obs", ("a", "b"), ((2, 3),)),
    )
    actions = [Action(str(number)) for number in range(5)]
    for enemy, number in enumerate(attacks):
        actions[number] = Action(str(number), (ENEMY, enemy))
    return Meaning(groups, tuple(actions))


def _batch():
    scheme = {
        "obs": {"vshape": 9, "group": "agents"},
        "actions": {"vshape": (1,), "group": "agents", "dtype": th.long},
        "avail_actions": {"vshape": (5,), "group": "agents", "dtype": th.int},
        "state": {"vshape": 2},
    }
    batch = EpisodeBatch(scheme, {"agents": 2}, 2, 3, preprocess={"actions": ("actions_onehot", [OneHot(out_dim=5)])})
    rng = np.random.default_rng(1)
    for t in range(3):
        seen = {"obs": rng.normal(size=(2, 2, 9)), "state": rng.normal(size=(2, 2))}
        choices = {"actions": rng.integers(5, size=(2, 2, 1)), "avail_actions": rng.integers(2, size=(2, 2, 5))}
        batch.update({**seen, **choices}, ts=t)
    return batch


def _context(meaning):
    return SimpleNamespace(args=SimpleNamespace(meaning=meaning, n_agents=2))


def test_enemies_change_places_with_their_actions(monkeypatch):
    orders = iter([[0], [2, 0, 1], [0], [0, 2, 1]])
    monkeypatch.setattr("components.sampling.permuted.np.random.permutation", lambda n: np.array(next(orders)))
    batch = _batch()
    *moved, last = permuted_entities(batch, _context(_meaning()), times=2)
    assert last is batch
    for one, order in zip(moved, ((2, 0, 1), (0, 2, 1)), strict=True):
        for to, enemy in enumerate(order):
            assert th.equal(one["obs"][..., list(ENEMIES[to])], batch["obs"][..., list(ENEMIES[enemy])])
            for key in ("avail_actions", "actions_onehot"):
                assert th.equal(one[key][..., ATTACKS[to]], batch[key][..., ATTACKS[enemy]])
        assert th.equal(one["obs"][..., [2, 3, 8]], batch["obs"][..., [2, 3, 8]])
        assert th.equal(one["avail_actions"][..., [0, 2]], batch["avail_actions"][..., [0, 2]])
        assert th.equal(one["actions_onehot"].argmax(-1, keepdim=True), one["actions"])
        assert one["state"] is batch["state"] and not th.equal(one["actions"], batch["actions"])


def test_orders_are_drawn_for_each():
    np.random.seed(1)
    parts = [part["obs"] for part in permuted_entities(_batch(), _context(_meaning()), times=4)]
    assert len(parts) == 5 and len({tuple(part.flatten().tolist()) for part in parts}) > 2


def test_enemies_with_different_numbers_of_actions_are_refused():
    with pytest.raises(ConfigError, match="of the kind 'enemy' have different numbers of actions"):
        permuted_entities(_batch(), _context(_meaning(ATTACKS[:2])), times=1)
