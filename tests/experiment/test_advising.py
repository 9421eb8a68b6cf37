"""A controller's decision as advice to a person: actions by entity, the probabilities of each choice, the value."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from controllers.decisions import Decision
from envs.entities.games.minesweeper import MineSweeper
from experiment.advising import Advisor
from utils.errors import ConfigError

KWARGS = {"width": 3, "height": 3, "nmines": 3, "nrobots": 2, "orbital_cannon": True, "cooldown_period": 0}


class Told:
    """Decides as told; keeps what it saw."""

    supports_decide = True

    def __init__(self, actions, probs, value):
        self.actions, self.probs, self.value = actions, probs, value

    def init_hidden(self, size):
        assert size == 1

    def decide(self, batch, t, t_env, rows=slice(None), test_mode=False):
        assert (t, t_env, test_mode) == (0, 70, True)
        self.seen = {key: batch[key][0, 0] for key in ("entities/Mine", "entities/Mine/count", "acts", "avail_actions")}
        extras = {"probs": self.probs, "value": self.value}
        return Decision({"actions": self.actions}, {name: value for name, value in extras.items() if value is not None})


def advisor(mac):
    args = SimpleNamespace(env_args={"environment": "MineSweeper", "kwargs": KWARGS}, buffer_dtype="float32", mac="m")
    return Advisor(SimpleNamespace(mac=mac, args=args, step=70))


def test_slots_become_actions_of_entities():
    env = MineSweeper(**KWARGS)
    env.mines, env.robots, env.cooldown = [(0, 0), (2, 2)], [(1, 1)], 0
    # slots: two robots, of which one is left, and the cannon; choices: five moves, or one of three entities
    probs = th.arange(18).reshape(1, 3, 6) / 100
    told = Told(th.tensor([[4, 0, 1]]), probs, th.full((1, 3, 1), 0.5))
    actions, value = advisor(told).act(env.observe())
    assert value == 0.5
    move, fire = actions["Move"], actions["Fire Orbital Cannon"]
    assert (move.actors, move.labels) == ([("Robot", 0)], ["Defuse Mines"])
    assert (fire.actors, fire.actees) == ([("Orbital Cannon", 0)], [("Mine", 1)])
    np.testing.assert_allclose(move.probs, [[0.0, 0.01, 0.02, 0.03, 0.04]])
    np.testing.assert_allclose(fire.probs, [[0.12, 0.13, 0.14]])
    assert told.seen["entities/Mine"][:2].tolist() == [[0, 0], [2, 2]]
    assert told.seen["entities/Mine/count"].item() == 2
    assert told.seen["acts"].flatten().tolist() == [1, 0, 1]


def test_a_controller_without_probabilities_and_values_advises_all_the_same():
    env = MineSweeper(**KWARGS)
    actions, value = advisor(Told(th.tensor([[4, 4, 0]]), None, None)).act(env.reset())
    assert value is None
    assert actions["Move"].labels == ["Defuse Mines", "Defuse Mines"]
    assert actions["Move"].probs is None


def test_a_controller_that_only_selects_is_refused():
    with pytest.raises(ConfigError, match="mac=m does not say"):
        advisor(SimpleNamespace())
