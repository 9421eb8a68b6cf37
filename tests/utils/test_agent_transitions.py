"""Which transitions count where agents end, come and go by themselves."""

import itertools

import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from utils.rl_utils import terminations, valid_transitions

COLUMNS = 6


def batch_of(agents, **of_episode):
    """One episode of two agents. `agents`: field -> columns of the first agent; the second is there and never ends.

    of_episode: "filled", "terminated", "truncated": columns; filled everywhere by default.
    """
    scheme = {"terminated": {"vshape": (1,), "dtype": th.uint8}, "truncated": {"vshape": (1,), "dtype": th.uint8}}
    scheme |= {key: {"vshape": (1,), "dtype": th.uint8, "group": "agents"} for key in agents}
    batch = EpisodeBatch(scheme, {"agents": 2}, 1, COLUMNS)
    batch["filled"].fill_(1)
    for key, columns in of_episode.items():
        batch[key][0, :, 0] = th.tensor(columns)
    for key, columns in agents.items():
        batch[key][0, :, 0, 0] = th.tensor(columns)
        batch[key][0, :, 1, 0] = int(key == "present")
    return batch


def masks(batch):
    first, second = valid_transitions(batch, by_agent=True)[0].T.tolist()
    return [int(x) for x in first], [int(x) for x in second]


@pytest.mark.parametrize("end", ["agents/terminated", "agents/truncated"])
def test_an_agent_that_ends_closes_in_the_next_column_and_its_place_is_taken_after_it(end):
    batch = batch_of({end: [0, 1, 0, 0, 0, 0]})
    assert masks(batch) == ([1, 1, 0, 1, 1], [1, 1, 1, 1, 1])
    assert valid_transitions(batch).shape == (1, 5, 1)


def test_the_episodes_end_ends_everyone():
    batch = batch_of({"present": [1, 1, 1, 0, 0, 0]}, terminated=[0, 0, 1, 0, 0, 0], filled=[1, 1, 1, 1, 0, 0])
    assert masks(batch) == ([1, 1, 1, 0, 0], [1, 1, 1, 0, 0])
    assert terminations(batch, by_agent=True)[0].tolist() == [[0], [0], [1], [0], [0]]


def test_an_agent_terminates_with_its_own_end_or_with_the_episodes():
    batch = batch_of({"agents/terminated": [0, 1, 0, 0, 0, 0]}, terminated=[0, 0, 0, 1, 0, 0])
    assert terminations(batch, by_agent=True)[0].T.tolist() == [[0, 1, 0, 1, 0], [0, 0, 0, 1, 0]]
    assert terminations(batch)[0].T.tolist() == [[0, 0, 0, 1, 0]]


def test_a_batch_that_knows_nothing_of_its_agents_has_the_teams_mask():
    batch = batch_of({}, truncated=[0, 0, 1, 0, 0, 0], filled=[1, 1, 1, 1, 0, 0])
    assert th.equal(valid_transitions(batch, by_agent=True), valid_transitions(batch))


def test_every_short_life_by_brute_force():
    """All lives of four columns against the sentence in the docstring; an end in column 4 is never.

    A terminal step needs nothing after it, one that is cut off the observation after it.
    """
    for present, dies, cut in itertools.product(itertools.product((0, 1), repeat=4), range(5), range(5)):
        ends = {"agents/terminated": dies, "agents/truncated": cut}
        columns = {key: [int(t == at) for t in range(COLUMNS)] for key, at in ends.items()}
        batch = batch_of({"present": [*present, 0, 0], **columns}, filled=[1, 1, 1, 1, 0, 0])
        expected = [int(present[t] and t - 1 not in ends.values() and (t == dies or present[t + 1])) for t in range(3)]
        assert masks(batch)[0] == [*expected, 0, 0], (present, dies, cut)
