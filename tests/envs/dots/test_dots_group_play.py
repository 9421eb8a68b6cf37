"""One group's play: whose action is whose."""

import numpy as np
import pytest

from dots_simulator.groups import GroupSpec, Observation
from envs.contract.validation import InvalidEnvironmentError
from envs.dots.fields import GroupFields
from envs.dots.group import Decisions
from envs.dots.group_play import GroupPlay


class AskingGroup:
    """Agents that ask in this order; keeps the actions that they get, in the same."""

    ended = 0

    def __init__(self, *ids, mask=None):
        self.ids, self.asking, self.acted = ids, len(ids), None
        self.mask = mask

    def decisions(self, by_branch=False):
        seen = np.array(self.ids, np.float32)[:, None]
        return Decisions([seen], np.zeros(len(self.ids), np.float32), np.array(self.ids, np.int32), mask=self.mask)

    def act(self, floats, choices):
        self.acted = floats[:, 0].tolist()


def new_play():
    return GroupPlay(GroupFields("agents", GroupSpec("Walker", 4, (Observation((1,)),), continuous=1), masked=False))


@pytest.mark.parametrize("resumed", [False, True])
def test_agents_get_their_own_actions_in_whichever_order_they_ask(resumed):
    play = new_play()
    play.take(AskingGroup(30, 10, 20))
    group = AskingGroup(20, 30)
    play.take(group)
    if resumed:
        state, play = play.state_dict(), new_play()
        play.load_state_dict(state)
    # rows: 30, 10, 20 and nobody
    play.act(group, {"actions": np.array([[0.3], [0.1], [0.2], [0.0]], np.float32)})
    assert group.acted == pytest.approx([0.2, 0.3])
    assert play.observed["obs"][[2, 0], 0].tolist() == [20, 30]


def test_an_agent_whose_choices_are_all_masked_is_named():
    spec = GroupSpec("Walker", 4, (Observation((1,)),), branches=(2, 3))
    play = GroupPlay(GroupFields("agents", spec, masked=True))
    masks = np.zeros((2, 5), bool)
    masks[0, 1:4] = True
    play.take(AskingGroup(7, 9, mask=masks))
    assert play.observed["avail/0"][:2].tolist() == [[1, 0], [1, 1]]
    masks[1, 2:] = True
    with pytest.raises(InvalidEnvironmentError, match="masks all 3 choices of actions/1 for its agent 9"):
        play.take(AskingGroup(7, 9, mask=masks))
