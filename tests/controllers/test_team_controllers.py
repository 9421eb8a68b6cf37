"""Teams whose groups are played by several controllers."""

from types import SimpleNamespace

import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.team_views import TeamView
from controllers.decisions import Decision
from controllers.teams import Team, TeamControllers, memory_of_all, memory_of_some

SIZES = {"red": 2, "blue": 2, "green": 2}
EPISODES, HIDDEN = 3, 4


class Counter:
    """Adds `step` to a memory at each decision, from `initial` on, and does what its first number says."""

    supports_decide = True

    def __init__(self, step, initial=0.0, flat=False):
        self.step, self.initial, self.flat, self.hidden_states = step, initial, flat, None

    def init_hidden(self, batch_size):
        self.hidden_states = th.full((batch_size, 2, HIDDEN), self.initial)

    def decide(self, batch, t, t_env, rows=slice(None), test_mode=False):
        self.hidden_states = self.hidden_states + self.step
        chosen = self.hidden_states[..., 0].reshape(batch.batch_size, 2)[rows].long()
        if self.flat:
            self.hidden_states = self.hidden_states.reshape(-1, HIDDEN)
        return Decision({"actions": chosen}, {"seen": batch["obs"][:, t][rows]})


@pytest.fixture
def batch():
    scheme = {f"{group}/obs": {"vshape": (1,), "group": group} for group in SIZES}
    batch = EpisodeBatch(scheme, SIZES, EPISODES, 2)
    for k, group in enumerate(SIZES):
        batch[f"{group}/obs"][:] = 10 * k + th.arange(EPISODES).view(-1, 1, 1, 1)
    return batch


def controllers_of(groups, mac):
    return TeamControllers({"all": Team(mac, TeamView(SIZES, groups))})


@pytest.mark.parametrize("flat", [False, True], ids=["by agent", "in rows"])
@pytest.mark.parametrize("groups", [["red", "blue"], ["blue", "red"], ["green", "red", "blue"]], ids="-".join)
def test_stand_ins_act_for_their_groups_and_the_memory_keeps_its_rows(batch, groups, flat):
    macs = controllers_of(groups, Counter(1, flat=flat))
    macs.teams["all"].stand_ins = {"red": Counter(5)}
    macs.init_hidden(EPISODES)
    for t in (1, 2):
        decision = macs.decide(batch, 1, 0)
        for group in groups:
            acts = (5 if group == "red" else 1) * t
            assert decision.actions[f"{group}/actions"].tolist() == [[acts, acts]] * EPISODES
            assert th.equal(decision.extra(f"{group}/seen"), batch[f"{group}/obs"][:, 1])
        memory = macs.hidden_states
        by_group = memory["all"].reshape(EPISODES, len(groups), 2, HIDDEN)
        for k, group in enumerate(groups):
            assert (by_group[:, k] == (5 if group == "red" else 1) * t).all()
        # as runners do, which keep the memory between steps
        macs.hidden_states = memory
    # back in one hand
    macs.teams["all"].stand_ins = {}
    macs.hidden_states = memory
    assert th.equal(macs.hidden_states["all"], memory["all"])
    assert macs.decide(batch, 1, 0).actions["red/actions"].tolist() == [[11, 11]] * EPISODES


def test_another_stand_in_is_asked_at_once(batch):
    macs = controllers_of(["red"], Counter(1))
    macs.init_hidden(EPISODES)
    macs.decide(batch, 1, 0)
    other = Counter(7)
    macs.teams["all"].stand_ins = {"red": other}
    macs.init_hidden(EPISODES)
    assert macs.decide(batch, 1, 0, rows=[2]).actions["red/actions"].tolist() == [[7, 7]]
    assert macs.decide(batch, 1, 0).extra("red/seen").shape == (EPISODES, 2, 1)


def test_groups_that_were_taken_over_have_no_memory():
    macs = controllers_of(["red", "blue"], Counter(1, initial=-1.0))
    macs.init_hidden(EPISODES)
    initial = macs.hidden_states
    hidden = {"all": th.arange(EPISODES * 2 * 2 * HIDDEN).float().reshape(EPISODES * 2, 2, HIDDEN)}
    macs.taken_over = frozenset({"blue"})
    renewed = macs.renewed(hidden, initial)["all"].reshape(EPISODES, 2, 2, HIDDEN)
    assert (renewed[:, 1] == -1).all()
    assert th.equal(renewed[:, 0], hidden["all"].reshape(EPISODES, 2, 2, HIDDEN)[:, 0])
    # once
    assert macs.renewed(hidden, initial) == hidden


def test_memories_of_trees_and_of_none():
    team = TeamView(SIZES, ["red", "blue"])
    parts = [team.part(["blue"]), team.part(["red"])]
    tree = {"h": th.arange(12.0).reshape(6, 2), "c": th.arange(12.0).reshape(6, 2) + 100}  # three episodes, one agent
    shares = [memory_of_some(tree, view, team, 3) for view in parts]
    assert shares[1]["h"].tolist() == [[0, 1], [4, 5], [8, 9]]
    back = memory_of_all(shares, parts, team, 3)
    assert th.equal(back["h"], tree["h"]) and th.equal(back["c"], tree["c"])
    assert memory_of_all([None, None], parts, team, 3) is None
    assert memory_of_some(None, parts[0], team, 3) is None
    assert memory_of_some(tree, team, team, 3) is tree


def test_a_team_without_stand_ins_has_one_player():
    view = TeamView(SIZES, ["red", "blue"])
    team = Team(SimpleNamespace(), view)
    assert team.players() == [(team.mac, view)]
