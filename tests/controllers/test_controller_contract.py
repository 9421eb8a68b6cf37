"""Controllers of the user's own, asked what the built-in ones are asked."""

import copy
from types import SimpleNamespace

import pytest
from small_macs import make_mac

from controllers.contract import Controller, controller

ASKED = ("supports_decide", "supports_packing", "memoryless", "keeps_memory", "input_fields", "normalisers")


class Foreign:
    """Knows nothing of them but its memory."""

    hidden_states = None

    def init_hidden(self, batch_size):
        self.hidden_states = batch_size


def test_a_controller_of_ones_own_has_the_answers_of_one_that_knows_nothing():
    foreign, nothing = Foreign(), Controller()
    adapted = controller(foreign)
    assert {name: getattr(adapted, name) for name in ASKED} == {name: getattr(nothing, name) for name in ASKED}
    assert adapted.packed_inputs(None) is None and adapted.epsilons == {}
    adapted.init_hidden(3)
    assert foreign.hidden_states == adapted.hidden_states == 3
    adapted.hidden_states = 5  # as runners do, which keep the memory between steps
    assert foreign.hidden_states == 5 and copy.deepcopy(adapted).hidden_states == 5
    foreign.memoryless = True
    assert adapted.memoryless and not nothing.memoryless


@pytest.mark.parametrize("own", [False, True])
def test_selectors_are_annealed_and_say_how_much_they_explore(own):
    mac = make_mac(epsilon_start=1.0, epsilon_finish=0.0, epsilon_anneal_time=100)[0]
    asked = controller(SimpleNamespace(action_selector=mac.action_selector) if own else mac)
    assert (asked is mac) == (not own)
    asked.anneal(25)
    assert asked.epsilons == {"epsilon": 0.75}
