"""Episodes whose pieces lie in several rollouts, against a list of each copy's episodes."""

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.joined_episodes import JoinedEpisodes

SCHEME = {
    "number": {"vshape": 1, "group": "agents", "dtype": th.int64},
    "terminated": {"vshape": (1,), "dtype": th.uint8},
    "truncated": {"vshape": (1,), "dtype": th.uint8},
}
BEFORE = {"hidden_before": {"vshape": (1,), "group": "agents", "episode_const": True}}


class Copies:
    """Copies that play as `RolloutRunner` lets them: each state has a number, and every episode is written down."""

    def __init__(self, rows, seed, lost=0.1):
        self.rng, self.rows, self.lost = np.random.default_rng(seed), rows, lost
        self.closing, self.states, self.number = [False] * rows, [[] for _ in range(rows)], 0
        self.present = [self.next() for _ in range(rows)]

    def next(self):
        self.number += 1
        return self.number

    def begin(self, row):
        self.closing[row], self.states[row], self.present[row] = False, [], self.next()

    def rollout(self, steps):
        batch = EpisodeBatch({**SCHEME, **BEFORE}, {"agents": 1}, self.rows, steps + 1)
        batch["filled"][:] = 1
        ended = []
        for row in range(self.rows):
            if self.closing[row]:
                self.begin(row)
            for t in range(steps):
                batch["number"][row, t, 0, 0] = self.present[row]
                draw = self.rng.random()
                if self.closing[row]:
                    self.begin(row)
                elif draw < self.lost:
                    if t > 0:
                        batch["truncated"][row, t - 1] = 1
                        if self.states[row]:
                            ended.append((row, t - 1, False, [*self.states[row], self.present[row]]))
                    else:
                        batch["filled"][row, 0] = 0
                    self.begin(row)
                else:
                    self.states[row].append(self.present[row])
                    self.present[row] = self.next()
                    if draw > 0.8:
                        self.closing[row] = True
                        batch["terminated" if draw > 0.9 else "truncated"][row, t] = 1
                        ended.append((row, t, draw > 0.9, [*self.states[row], self.present[row]]))
            batch["number"][row, steps, 0, 0] = self.present[row]
        return batch, ended


def figures(episodes):
    return [(e.entry, e.step, e.terminated, e.values["number"][:, 0, 0].tolist()) for e in episodes]


@pytest.mark.parametrize("seed", range(8))
def test_rollouts_are_joined_as_the_copies_played_them(seed):
    copies, joined = Copies(5, seed), JoinedEpisodes(["number"])
    lengths = []
    for k in range(60):
        batch, ended = copies.rollout([1, 2, 3, 7][(seed + k) % 4])
        assert figures(joined.take(batch)) == ended
        lengths += [len(numbers) for *_, numbers in ended]
        if k % 13 == 5:  # a resumed run
            state, joined = joined.state_dict(), JoinedEpisodes(["number"])
            joined.load_state_dict(state)
    assert len(lengths) > 50 and max(lengths) > 9


def test_only_what_is_wanted_is_joined_and_old_steps_are_let_go():
    copies, joined, other = Copies(3, 0, lost=0), JoinedEpisodes(["number"]), JoinedEpisodes(["number"])
    for _ in range(200):
        batch, ended = copies.rollout(3)
        wanted = {(row, step) for row, step, *_ in ended[::2]}
        assert figures(joined.take(batch, wanted)) == [one for one in figures(other.take(batch)) if one[:2] in wanted]
        kept = sum(piece["number"].shape[1] for piece in joined.state_dict()["earlier"])
        # steps of the oldest unfinished episode, and of its rollout
        assert kept <= max(map(len, copies.states)) + 3


def test_whole_episodes_stay_whole():
    batch = EpisodeBatch(SCHEME, {"agents": 1}, 2, 5)
    batch["number"][:] = th.arange(10).reshape(2, 5, 1, 1)
    batch["terminated"][0, 1], batch["truncated"][1, 3] = 1, 1
    batch["filled"][0, :3], batch["filled"][1] = 1, 1
    joined = JoinedEpisodes(["number"])
    expected = [(0, 1, True, [0, 1, 2]), (1, 3, False, [5, 6, 7, 8, 9])]
    assert figures(joined.take(batch)) == expected
    assert figures(joined.take(batch, {(1, 3)})) == expected[1:]


def test_copies_that_start_again_have_no_earlier_steps():
    joined = JoinedEpisodes(["number"])
    copies = Copies(2, 3, lost=0)
    for _ in range(3):
        joined.take(copies.rollout(2)[0])
    joined.forget()
    fresh = Copies(2, 4, lost=0)
    for _ in range(9):
        batch, ended = fresh.rollout(2)
        assert figures(joined.take(batch)) == ended
