"""Protocol 0 with discrete actions: builds that write masks over other fields are recognised and played by rows."""

import logging
from pathlib import Path

import numpy as np
import pytest

import dots_unity_0
from dots_simulator.groups import GroupSpec, Observation
from envs.dots.environment import DotsEnv
from envs.dots.faults import SimulatorFault
from envs.dots.overwritten import Overwritten

UNITY = Path(dots_unity_0.__file__)
BASIC = Path(__file__).parents[3] / "simulators" / "basic.py"


def spec(n, *branches):
    return GroupSpec("One", n, (Observation((1,)),), 0, branches)


def looked(overwritten, group, ids, done=(), limits=(), masks=None, overwrites=True):
    """A turn: what a simulator writes that overwrites fields, or does not."""
    n, k = group.max_agents, len(ids)
    memory = np.zeros(5 * n + n * sum(group.branches), np.uint8)
    memory[list(limits)] = 1
    memory[n : n + 4 * k] = np.array(ids, "<i4").view(np.uint8)
    size = k * sum(group.branches)
    written = np.zeros(size, np.uint8) if masks is None else np.array(masks, np.uint8)
    if overwrites:
        memory[:size] = written
    rows = {"done": np.isin(np.arange(k), done), "max_step": memory[:k]}
    rows["agent_id"] = np.frombuffer(memory[n : n + 4 * k].tobytes(), "<i4")
    overwritten.look(group, memory[:size], rows)
    return overwritten.hides_limits, overwritten.hides_ids("One"), overwritten.decided_against


def test_ids_that_masks_cannot_be_are_ids():
    assert looked(Overwritten(), spec(3, 2, 3), [1, 7, 256], overwrites=False) == (False, False, True)


def test_an_agent_twice_is_what_masks_have_made_of_ids():
    known = Overwritten()
    assert looked(known, spec(5, 2, 3), [40, 47, 54, 61, 68]) == (True, True, False)
    assert "'One' are told apart by their rows" in known.lost and "time limit" in known.lost


def test_an_agent_that_ends_and_begins_in_one_turn_is_not_twice_there():
    assert looked(Overwritten(), spec(4, 3), [1, 1], done=[0], overwrites=False) == (False, False, False)


def test_a_time_limit_of_an_agent_that_continues_is_a_mask():
    known = Overwritten()
    # ids lie behind all masks: only time limits are lost
    assert looked(known, spec(50, 3), [40, 47], masks=[0, 1, 0, 0, 0, 0]) == (True, False, False)
    assert "agents keep them" in known.lost
    # until so many agents ask that masks reach the ids
    assert looked(known, spec(50, 3), list(range(40, 60))) == (True, True, False)


def test_more_agents_than_the_group_has_are_masks():
    known, one = Overwritten(), spec(1, 5)
    assert looked(known, one, [40], masks=[0, 1, 0, 0, 0]) == (False, False, False)
    assert looked(known, one, [40], masks=[0, 1, 0, 0, 1]) == (True, True, False)
    known, two = Overwritten(), spec(2, 3)
    # the second id is whole
    assert looked(known, two, [40, 47]) == (False, False, False)
    assert looked(known, two, [40, 47], masks=[0, 0, 1, 0, 0, 0]) == (True, True, False)
    known = Overwritten()
    looked(known, one, [0], done=[0], overwrites=False)
    # the one that ended before makes room, and so does a reset
    assert looked(known, one, [1], overwrites=False) == (False, False, False)
    known.begin()
    assert looked(known, one, [256], overwrites=False) == (False, False, False)


def test_what_is_not_known_is_said_when_it_matters():
    known = Overwritten()
    looked(known, spec(50, 3), [40, 47])
    assert known.lost == ""
    looked(known, spec(50, 3), [40, 47], done=[1])
    assert "env_args.ids=agents" in known.lost and "does not tell" in known.lost


def test_ids_of_the_users_are_followed():
    garbled = spec(5, 2, 3), [40, 47, 54, 61, 68]
    assert looked(Overwritten("agents"), *garbled) == (False, False, True)
    rows = Overwritten("rows")
    assert looked(rows, spec(50, 3), [40, 47], overwrites=False) == (True, True, False)
    rows.trust()
    assert rows.hides_limits
    trusted = Overwritten()
    trusted.trust()
    assert looked(trusted, *garbled) == (False, False, True)


@pytest.fixture
def made():
    open_ones = []

    def make(executable, *args, **env_args):
        open_ones.append(DotsEnv(executable=str(executable), args=list(args), protocol="0", **env_args))
        return open_ones[-1]

    yield make
    for env in open_ones:
        env.close()


def played(env, steps):
    """Zeros as actions; what is shown and what comes of it, copied."""
    actions = {path: np.zeros((5, *one.shape), one.dtype) for path, one in env.fields().items() if one.kind == "action"}
    found = []
    for _ in range(steps):
        outcomes, *_ = env.step(actions)
        found.append({path: array.copy() for path, array in (env.observe() | outcomes).items()})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("masks", [[], ["--masks"]])
def test_a_build_is_played_by_rows_as_its_agents_live(made, masks, caplog):
    env = made(UNITY, "--branches", "2,3", *masks)
    env.reset()
    turns = played(env, 20)
    env.reset()
    turns += played(env, 20)
    # the same game with continuous actions, whose fields nothing overwrites
    truth = made(UNITY, "--continuous", "2")
    truth.reset()
    wanted = played(truth, 20)
    truth.reset()
    wanted += played(truth, 20)
    for shown, true in zip(turns, wanted, strict=True):
        for name in ("obs", "present", "begins", "closing", "reward"):
            np.testing.assert_array_equal(shown[name], true[name])
        np.testing.assert_array_equal(shown["agents/terminated"], true["agents/terminated"] | true["agents/truncated"])
        assert not shown["agents/truncated"].any()
        assert shown["avail/0"][shown["present"]].all()
    made(UNITY, place=(1, 2, 1))  # another copy
    said = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(said) == 1 and "told apart by their rows" in said[0]


@pytest.mark.slow
def test_a_lone_agent_keeps_its_stream_through_masks(made):
    env = made(UNITY, "--most", "1", "--branches", "5", "--masks")
    env.reset()
    actions = {"actions": np.zeros(1, int)}
    begun = [bool(env.observe()["begins"][0])]
    for _ in range(12):
        env.step(actions)
        begun.append(bool(env.observe()["begins"][0]))
    assert np.flatnonzero(begun).tolist() == [0, 7]


@pytest.mark.slow
def test_ids_that_are_asked_for_stop_at_what_cannot_be(made):
    with pytest.raises(SimulatorFault, match="an agent twice in one turn"):
        made(UNITY, ids="agents")


@pytest.mark.slow
@pytest.mark.parametrize("wake", [True, False])
def test_simulators_that_write_as_they_should_keep_ids_and_limits(made, wake, caplog):
    env = made(BASIC, "--agents", "5", "--seed", "3", wake=wake, time_limit=500)
    env.reset()
    turns = played(env, 250)
    assert any(turn["agents/truncated"].any() for turn in turns)
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.slow
@pytest.mark.parametrize("wake, said", [(True, 0), (False, 1)])
def test_a_simulator_that_knows_wake_ups_needs_no_proof(made, wake, said, caplog):
    # agent 0, which may be a mask
    env = made(BASIC, "--agents", "1", wake=wake)
    env.reset()
    for _ in range(60):
        env.step({"actions": np.full(1, 2)})
    assert len([record for record in caplog.records if "does not tell whether" in record.message]) == said
