"""Environments of entities under the contract of declared fields: ends, sizes, random numbers, states, infos."""

import random

import numpy as np
import pytest

from envs.contract.declarations import spec_of
from envs.contract.validation import InvalidEnvironmentError
from envs.entities import Observation
from envs.entities.acting import restored, saved
from envs.entities.adapter import EntityEnv
from envs.entities.batch import EntityBatch
from envs.entities.copies import OwnRandom
from walking import Walk, stepped, walks


def test_an_episode_ends_with_its_terminal_observation_and_its_shares():
    batch = walks(max_entities=1)
    batch.reset()
    for t in range(4):
        outcomes, terminated, truncated = stepped(batch, t % 2)
        assert outcomes["reward"].tolist() == [1.0, 1.0]
        assert terminated.tolist() == [t == 3] * 2 and not truncated.any()
    assert batch.info(0) == {"at": 4.0, "choices/go/left": 0.5, "choices/go/right": 0.5}
    arrays = batch.observed()
    assert arrays["entities/Walker/count"].tolist() == [1, 1]
    assert not arrays["acts"].any() and arrays["avail_actions"][:, :, 0].all()
    last = arrays["entities/Walker"].copy()
    stepped(batch)
    assert (batch.observed()["entities/Walker"] == last).all()
    batch.reset(np.array([False, True]))
    assert batch.observed()["acts"].tolist() == [[0], [1]]


def test_the_limit_truncates():
    batch = walks(episode_limit=3, kwargs={"length": 9})
    batch.reset()
    ends = [stepped(batch)[1:] for _ in range(3)]
    assert [truncated.tolist() for _, truncated in ends] == [[False] * 2, [False] * 2, [True] * 2]
    assert not any(terminated.any() for terminated, _ in ends)


def test_copies_play_as_single_ones_do_and_leave_global_generators_alone():
    batch, singles = walks(), [EntityEnv("walking:Walk", seed=seed) for seed in (3, 4)]
    before = random.getstate(), np.random.get_state()[1].tolist()
    batch.reset()
    shown = []
    for _ in range(3):
        shown.append(batch.observed()["entities/Walker"].copy())
        stepped(batch)
    for b, single in enumerate(singles):
        single.reset()
        for t in range(3):
            assert single.observe()["entities/Walker"].tolist() == shown[t][b, :1].tolist()
            single.step({"actions": np.zeros(single.groups["agents"], np.int64)})
    assert shown[0][0].tolist() != shown[0][1].tolist()
    assert before == (random.getstate(), np.random.get_state()[1].tolist())


def test_an_environments_own_random_numbers_continue():
    own, drawn = OwnRandom(3), []
    for _ in range(2):
        with own:
            drawn.append((random.random(), np.random.random()))
    python, numpy = random.Random(3), np.random.RandomState(np.random.MT19937(np.random.SeedSequence(3)))
    assert drawn == [(python.random(), numpy.random()) for _ in range(2)]


def test_a_state_is_resumed_in_an_episode():
    batch, other = walks(), walks(seed=[8, 9])
    batch.reset()
    stepped(batch)
    other.load_state_dict(batch.state_dict())
    assert other._copies[0].env.last.actors == ["w0"]
    for path, array in batch.observed().items():
        assert (other.observed()[path] == array).all()
    for _ in range(2):
        stepped(batch), stepped(other)
        assert (other.observed()["entities/Walker"] == batch.observed()["entities/Walker"]).all()
    batch.reset(), other.reset()
    assert (other.observed()["entities/Walker"] == batch.observed()["entities/Walker"]).all()


def test_sizes_are_set_or_declared_or_seen_in_play():
    sizes = lambda batch: (batch.layout.entities, batch.layout.actors)  # noqa: E731
    assert sizes(EntityBatch(1, "MineSweeper")) == ({"Mine": 5, "Robot": 2}, {"Move": 2})
    assert sizes(EntityBatch(1, "MineSweeper", max_entities={"Mine": 9}, max_actors=3)) == (
        {"Mine": 9, "Robot": 2},
        {"Move": 3},
    )
    assert sizes(walks(kwargs={"walkers": 3})) == ({"Walker": 6}, {"go": 6})
    assert sizes(walks(kwargs={"walkers": 3}, max_actors=3)) == ({"Walker": 6}, {"go": 3})


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"max_entities": 2}, "Entity type 'Walker' has 3 entities, more than its capacity of 2.*max_entities"),
        ({"max_entities": {"Walker": 3}, "max_actors": {"go": 1}}, "Action 'go' has 3 actors.* of 1.*max_actors"),
    ],
)
def test_more_than_there_is_room_for_is_refused(sizes, message):
    batch = walks(kwargs={"walkers": 3}, **sizes)
    with pytest.raises(InvalidEnvironmentError, match=f"Walk, after reset.*{message}"):
        batch.reset()


def test_metrics_do_not_replace_the_statistics_of_a_run(monkeypatch):
    def spoil(observation):
        observation.metrics = {"ep_length": 3, "crashed": True, "return": np.float32(0.5), "found": np.array([2])}
        return observation

    batch = walks(1, seed=[3])
    monkeypatch.setattr(Walk, "spoil", staticmethod(spoil))
    batch.reset()
    stepped(batch)
    renamed = {"metrics/ep_length": 3, "metrics/crashed": True, "metrics/return": 0.5}
    assert batch.info(0).items() >= (renamed | {"found": 2}).items()


class Known:
    """An id that is equal to itself only."""


def test_ids_are_saved_for_each_action_that_names_them():
    """A list of ids that two actions share made the environment one that could not be saved."""
    ids = ["a", "b"]
    offered = {"go": (ids, ids), "turn": (ids, ())}
    assert restored(saved(offered, "walking"), "walking") == {"go": (("a", "b"),) * 2, "turn": (("a", "b"), ())}
    with pytest.raises(NotImplementedError, match="id is a Known"):
        saved({"go": ([Known()], ())}, "walking")


def test_ids_for_a_type_that_shows_nothing_are_empty(monkeypatch):
    batch = walks(1, seed=[3])
    nothing = Observation(features={}, ids={"Walker": []}, done=False, reward=0.0, global_features=[])
    monkeypatch.setattr(Walk, "spoil", staticmethod(lambda observation: nothing))
    batch.reset()
    assert not batch.observed()["acts"].any()


def test_names_of_this_project_may_be_used_for_something_else(monkeypatch):
    for name in ("capacity", "max_actors", "scene"):
        monkeypatch.setattr(Walk, name, 3)
    env = EntityEnv("walking:Walk")
    env.reset()
    assert env.scene() == {}


def test_the_declaration_is_valid():
    spec = spec_of(EntityEnv("MineSweeper", {"orbital_cannon": True}), 4)
    assert spec.array_shape("entities/Mine", 4) == (4, 5, 2)
    assert spec.fields["actors"].about["actions"]["Fire Orbital Cannon"] == {
        "kind": "select",
        "slots": [2, 3],
        "choices": 8,
    }
    assert spec.fields["entities/Mine"].about == {"features": ["x", "y"]}
