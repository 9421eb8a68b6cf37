"""Environments of entities under the contract of declared fields: arrays, ends, sizes, random numbers, states."""

import random
import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.entities import (
    CategoricalActionMask,
    CategoricalActionSpace,
    Entity,
    Environment,
    GlobalCategoricalActionMask,
    GlobalCategoricalActionSpace,
    Observation,
    ObsSpace,
    SelectEntityActionMask,
    SelectEntityActionSpace,
    encoding,
)
from envs.entities.acting import restored, saved
from envs.entities.adapter import EntityEnv
from envs.entities.batch import EntityBatch
from envs.entities.encoding import Encoder, NotPlainError
from envs.entities.layout import Layout
from envs.entities.own_random import OwnRandom
from envs.fields import declared_spec
from envs.sizes import spec_of
from envs.validation import InvalidEnvironmentError
from utils.errors import ConfigError, MusterError

SPACE = ObsSpace(["time"], {"Mine": Entity(["x", "y"]), "Robot": Entity(["x", "y"]), "Wall": Entity([])})
ACTIONS = {
    "Move": CategoricalActionSpace(["Up", "Down", "Wait"]),
    "Turn": GlobalCategoricalActionSpace(["On", "Off"]),
    "Fire": SelectEntityActionSpace(),
}
LAYOUT = Layout(SPACE, ACTIONS, {"Mine": 4, "Robot": 3, "Wall": 2}, {"Move": 5, "Fire": 3})


class Declared:
    groups, episode_limit, fields = LAYOUT.groups, 7, LAYOUT.fields


def encoded(observations, plain):
    """The arrays of these observations, by the plain way or by `EntityNumbering`."""
    encoder = Encoder(declared_spec(Declared), LAYOUT, len(observations))
    way = encoding._Plain if plain else encoding._Numbered
    write = encoder._write

    def only(rows, given):
        if type(given[0]) is not way:
            raise NotPlainError
        write(rows, given)

    encoder._write = only
    encoder.write(np.arange(len(observations)), observations)
    return encoder.arrays


def test_every_slot_has_its_actor_and_its_choices():
    """By hand: numbers are Mine 0-1, Robot 2-3, Wall 4; slots are Move 0-4, Turn 5, Fire 6-8."""
    shown = Observation(
        features={"Robot": [[5, 6], [7, 8]], "Mine": [[1, 2], [3, 4]], "Wall": [[]]},
        global_features=[0.5],
        actions={
            "Move": CategoricalActionMask(actor_types=["Robot"], mask=[[True, False, True], [False, True, False]]),
            "Turn": GlobalCategoricalActionMask(mask=[False, True]),
            "Fire": SelectEntityActionMask(
                actor_types=["Mine"], actee_types=["Robot", "Mine"], mask=[[1, 0, 0, 1], [1, 1, 1, 1]]
            ),
        },
        visible={"Mine": [True, False]},
        done=False,
        reward=0.0,
    )
    arrays = {path: array[0] for path, array in encoded([shown], plain=False).items()}
    assert arrays["actors"].tolist() == [2, 3, -1, -1, -1, 5, 0, 1, -1]
    assert arrays["acts"].tolist() == [1, 1, 0, 0, 0, 1, 1, 1, 0]
    assert arrays["actees/Fire"].tolist()[:4] == [2, 3, 0, 1]
    assert arrays["actees/Fire/count"] == 4
    choices = ["101", "010", "1", "1", "1", "01", "1001", "1111", "1"]
    assert arrays["avail_actions"].tolist() == [[int(x) for x in row.ljust(9, "0")] for row in choices]
    assert arrays["entities/Mine"].tolist() == [[1, 2], [3, 4], [0, 0], [0, 0]]
    assert [int(arrays[f"entities/{name}/count"]) for name in SPACE.entities] == [2, 2, 1]
    assert arrays["entities/Mine/hidden"].tolist() == [0, 1, 0, 0]
    assert arrays["global_features"].tolist() == [0.5]


def any_observation(rng):
    """One that the plain way takes: actors by type, ids or none, lists or arrays, any masks."""
    counts = {"Mine": rng.integers(5), "Robot": rng.integers(4), "Wall": rng.integers(3)}
    features = {name: rng.integers(9, size=(k, len(SPACE.entities[name].features))) for name, k in counts.items()}
    if rng.random() < 0.5:
        features = {name: rows.tolist() for name, rows in features.items()}
    if not counts["Wall"]:
        del features["Wall"]
    actions = {}
    if rng.random() < 0.8:
        types = [["Robot"], ["Robot", "Wall"], ["Wall"], []][rng.integers(4)]
        actors = sum(counts[name] for name in types)
        mask = rng.random((actors, 3)) < 0.7
        mask[:, 1] |= ~mask.any(1)
        mask = [None, mask, mask.tolist()][rng.integers(3)]
        actions["Move"] = CategoricalActionMask(actor_types=types, mask=mask)
    if rng.random() < 0.8:
        actions["Turn"] = GlobalCategoricalActionMask(
            mask=[None, [True, False], np.array([[True, True]])][rng.integers(3)]
        )
    if rng.random() < 0.8:
        actees = [["Mine", "Robot"], ["Robot", "Mine", "Wall"], ["Robot"]][rng.integers(3)]
        number = sum(counts[name] for name in actees)
        types = ["Robot"] if number else []
        mask = np.ones((counts["Robot"] if types else 0, number), bool)
        mask[:, rng.integers(number + 1) :] = rng.random() < 0.5
        mask[:, :1] = True
        actions["Fire"] = SelectEntityActionMask(
            actor_types=types, actee_types=actees, mask=[None, mask][rng.integers(2)]
        )
    ids = {"Robot": [f"r{k}" for k in range(counts["Robot"])]} if rng.random() < 0.5 else {}
    visible = {"Mine": rng.random(counts["Mine"]) < 0.5} if rng.random() < 0.3 else {}
    ended = rng.random() < 0.2
    return Observation(
        features=features, ids=ids, visible=visible, actions=actions, global_features=[0.5], done=ended, reward=0.0
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_short_way_is_that_of_the_numbering(seed):
    rng = np.random.default_rng(seed)
    observations = [any_observation(rng) for _ in range(rng.integers(1, 6))]
    plain, numbered = encoded(observations, plain=True), encoded(observations, plain=False)
    for path in plain:
        np.testing.assert_array_equal(plain[path], numbered[path], path)


class Walk(Environment):
    """One walker, which draws from the global generators, as files for entity-gym do; it may do anything once."""

    spoil = staticmethod(lambda observation: observation)

    def __init__(self, length: int = 4, walkers: int = 1):
        self.length, self.walkers, self.t = length, walkers, 0

    def obs_space(self):
        return ObsSpace(entities={"Walker": Entity(["x"])})

    def action_space(self):
        return {"go": CategoricalActionSpace(["left", "right"])}

    def reset(self):
        self.t = 0
        return self.seen()

    def act(self, actions):
        self.t += 1
        self.last = actions["go"]
        return self.seen()

    def seen(self):
        rows = [[random.random() + np.random.normal()] for _ in range(self.walkers)]
        return type(self).spoil(
            Observation(
                features={"Walker": rows},
                ids={"Walker": [f"w{k}" for k in range(self.walkers)]},
                actions={"go": CategoricalActionMask(actor_types=["Walker"])},
                done=self.t == self.length,
                reward=1.0,
                metrics={"at": float(self.t)},
            )
        )


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setitem(sys.modules, "walking", sys.modules[__name__])


def walks(size=2, **options):
    return EntityBatch(size, **{"environment": "walking:Walk", "seed": [3, 4], **options})


def stepped(batch, choice=0):
    return batch.step({"actions": np.full((len(batch._copies), batch.groups["agents"]), choice)})


def test_an_episode_ends_with_its_terminal_observation_and_its_shares():
    batch = walks(max_entities=1)
    batch.reset()
    for t in range(4):
        outcomes, terminated, truncated, infos = stepped(batch, t % 2)
        assert outcomes["reward"].tolist() == [1.0, 1.0]
        assert terminated.tolist() == [t == 3] * 2 and not truncated.any()
    assert infos[0] == {"at": 4.0, "choices/go/left": 0.5, "choices/go/right": 0.5}
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
    ends = [stepped(batch)[1:3] for _ in range(3)]
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


@pytest.mark.parametrize(
    "kwargs", [{"step_limit": 40}, {"orbital_cannon": True, "cooldown_period": 1, "step_limit": 20}]
)
def test_minesweeper_is_resumed_in_an_episode(kwargs):
    batch, other = (EntityBatch(3, "MineSweeper", kwargs, seed=[k, k + 1, k + 2]) for k in (0, 5))
    rng = np.random.default_rng(0)
    batch.reset()
    for t in range(60):
        if t == 30:
            other.load_state_dict(batch.state_dict())
        legal = batch.observed()["avail_actions"]
        actions = {"actions": (legal * rng.random(legal.shape)).argmax(-1)}
        for one in (batch, other)[: 1 + (t >= 30)]:
            _, terminated, truncated, _ = one.step(actions)
            if (ended := terminated | truncated).any():
                one.reset(ended)
        if t >= 30:
            for path, array in batch.observed().items():
                assert (other.observed()[path] == array).all(), path


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


def spoilt(monkeypatch, after_step, **changes):
    """The message about an observation with these attributes, after the reset or in the second step."""
    steps = iter(range(99))

    def spoil(observation):
        if next(steps) == after_step:
            for name, value in changes.items():
                setattr(observation, name, value)
        return changes.get("instead", observation) if after_step < 0 else observation

    batch = walks(1, seed=[3], max_entities=2, max_actors=1)
    monkeypatch.setattr(Walk, "spoil", staticmethod(spoil))
    with pytest.raises(InvalidEnvironmentError) as caught:
        batch.reset()
        for _ in range(3):
            stepped(batch)
    return str(caught.value)


SPOILT = [
    ({"features": {"Walker": [[1.0, 2.0]]}}, r"Entity type 'Walker' has features of shape \(1, 2\)"),
    ({"features": {"Walker": [[float("nan")]]}}, "Entity type 'Walker': a feature is not finite"),
    ({"features": {"Walker": [["x"]]}}, "Entity type 'Walker': .* not an array of numbers"),
    ({"features": {"Walker": [[1.0]] * 3}, "ids": {}}, "'Walker' has 3 entities, more than its capacity of 2"),
    ({"ids": {"Walker": ["a", "b"]}}, "Entity type 'Walker' has 1 entities, and 2 ids"),
    ({"global_features": [1.0]}, r"global features of shape \(1,\)"),
    ({"actions": {"jump": CategoricalActionMask()}}, "There is no action 'jump'"),
    ({"actions": {"go": GlobalCategoricalActionMask()}}, "Action 'go' has the mask .* expected a Categorical"),
    ({"actions": {"go": CategoricalActionMask(actor_types=["Wolf"])}}, "actor_types has 'Wolf'"),
    ({"actions": {"go": CategoricalActionMask(actor_types=["Walker"] * 2)}}, "is there twice as actor"),
    ({"actions": {"go": CategoricalActionMask(actor_ids=["w7"])}}, "actor_ids has w7"),
    ({"actions": {"go": CategoricalActionMask(["w0"], ["Walker"])}}, "both actor_ids and actor_types"),
    ({"actions": {"go": CategoricalActionMask(actor_types=["Walker"], mask=[[True]])}}, r"shape \(1, 1\)"),
    ({"actions": {"go": CategoricalActionMask(actor_types=["Walker"], mask=[[2, 0]])}}, "are no booleans"),
    (
        {"actions": {"go": CategoricalActionMask(actor_types=["Walker"], mask=[[0, 0]])}},
        "'Walker' has nothing to choose",
    ),
    ({"visible": {"Walker": [True, False]}}, "'Walker', visible has the shape"),
    ({"visible": {"Walker": [0.5]}}, "'Walker', visible: .* no booleans"),
    ({"reward": float("inf")}, "The reward is inf"),
    ({"reward": "much"}, "The reward is 'much'"),
    ({"reward": [1.0, 2.0]}, "The reward is"),
    ({"done": True, "truncated": True}, "done, or truncated, not both"),
    ({"done": "no"}, "done is 'no': expected True or False"),
    ({"truncated": 2}, "truncated is 2: expected True or False"),
    ({"done": np.array([False, True])}, "done is array.*: expected True or False"),
    ({"ids": {"Walker": None}}, "Entity type 'Walker': its list of ids is None"),
    ({"ids": {"Walker": "a"}}, "its list of ids is a: expected a list"),
    ({"ids": {"Walker": [["a"]]}}, "Entity type 'Walker' has the id .* not hashable"),
    ({"actions": {"go": CategoricalActionMask(actor_types="Walker")}}, "actor_types is Walker: expected a list"),
    ({"actions": {"go": CategoricalActionMask(actor_types=[["Walker"]])}}, "no type of the space"),
    ({"actions": {"go": CategoricalActionMask(actor_ids=3)}}, "Action 'go': actor_ids is 3: expected a list of ids"),
]
METRICS = [
    ({"metrics": {"found": "much"}}, "metric 'found' is much: expected a number"),
    ({"metrics": {"found": [1, 2]}}, "metric 'found' is .*: expected a number"),
    ({"metrics": {1: 2}}, "metric 1 has no name"),
]


@pytest.mark.parametrize("case", range(len(SPOILT)))
@pytest.mark.parametrize("after_step", [0, 2])
def test_an_invalid_observation_is_refused_with_environment_and_step(monkeypatch, case, after_step):
    changes, message = SPOILT[case]
    said = spoilt(monkeypatch, after_step, **changes)
    assert said.startswith("Walk, after reset(): " if after_step == 0 else "Walk, in step 2: ")
    assert re.search(message, said), said


@pytest.mark.parametrize(("changes", "message"), METRICS)
def test_a_metric_that_is_no_number_is_refused(monkeypatch, changes, message):
    assert re.search(f"Walk, in step 2: .*{message}", spoilt(monkeypatch, 2, **changes))


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


def test_no_observation_and_an_end_at_the_beginning_are_refused(monkeypatch):
    assert "not an Observation" in spoilt(monkeypatch, -1, instead=(1, 2))
    assert "begins with its end" in spoilt(monkeypatch, 0, done=True)


@pytest.mark.parametrize(
    ("env_args", "message"),
    [
        ({"environment": "MineSweper"}, "no game 'MineSweper'. Did you mean 'MineSweeper'"),
        ({"environment": 3}, "env_args.environment is 3"),
        ({"environment": "walking:Wolk"}, "no class 'Wolk'. Did you mean 'Walk'"),
        ({"environment": "walking:EntityEnv"}, "no subclass of entity_gym.env.Environment"),
        ({"environment": "no_such_module:Walk"}, "importing 'no_such_module' failed"),
        ({"environment": "no_such_file.py:Walk"}, "there is no file"),
        ({"kwargs": {"widht": 3}}, r"env_args.kwargs.widht: .* no such argument. Did you mean 'width'"),
        ({"kwargs": {"width": 0}}, "width=0 must be a whole number"),
        ({"kwargs": {"width": "x"}}, "width=x must be a whole number"),
        ({"kwargs": [3]}, "env_args.kwargs is .*mapping"),
        ({"environment": "walking:Walk", "kwargs": {"walkers": "x"}, "max_entities": 1, "max_actors": 1}, None),
        ({"episode_limit": -1}, "env_args.episode_limit is -1"),
        ({"episode_limit": 1.5}, "env_args.episode_limit is 1.5"),
        ({"max_entities": 0}, "env_args.max_entities is 0"),
        ({"max_entities": {"Mine": "many"}}, "env_args.max_entities.Mine is many"),
        ({"max_entities": {"Mien": 2}}, "env_args.max_entities: there is no entity type 'Mien'. Did you mean 'Mine'"),
        ({"max_actors": {"Mvoe": 2}}, "env_args.max_actors: .*'Mvoe'. Did you mean 'Move'"),
        ({"max_actors": 2**20}, "env_args.max_actors is 1048576"),
    ],
)
def test_bad_arguments_are_refused_before_a_run(env_args, message):
    if message is None:  # the constructor takes it; its first step would not
        EntityEnv.check_args(**env_args)
        return
    with pytest.raises(ConfigError, match=message):
        EntityEnv.check_args(**env_args)


class Odd(Walk):
    """Declares what it must not."""

    said = None

    def capacity(self):
        return self.said


@pytest.mark.parametrize("said", [{"Walker": 0}, {"Wolf": 2}, {"Walker": "2"}])
def test_a_wrong_declaration_of_sizes_is_refused(monkeypatch, said):
    monkeypatch.setattr(Odd, "said", said)
    with pytest.raises(ConfigError, match=r"capacity\(\) says"):
        EntityEnv("walking:Odd")


@pytest.mark.parametrize(
    ("name", "instead", "message"),
    [
        ("capacity", lambda self: ["Walker"], r"capacity\(\) says \['Walker'\]: expected a dict"),
        ("max_actors", lambda self: 3, r"max_actors\(\) says 3: expected a dict"),
        ("obs_space", lambda self: 1 / 0, "Walk, asked for its spaces: ZeroDivisionError.* line [0-9]+, in <lambda>"),
        ("act", lambda self, actions: 1 / 0, "Walk, in 200 steps of random play: ZeroDivisionError.*, in <lambda>"),
        ("seed", lambda self: None, r"Walk, seed\([0-9]+\): TypeError"),
        ("episode_limit", "10", "Walk.episode_limit is 10: expected a whole number"),
        ("episode_limit", -1, "Walk.episode_limit is -1"),
    ],
)
def test_what_an_environment_does_before_a_run_is_said_with_its_name(monkeypatch, name, instead, message):
    monkeypatch.setattr(Walk, name, instead)
    with pytest.raises(ConfigError, match=message):
        EntityEnv.check_args(environment="walking:Walk")


def test_names_of_this_project_may_be_used_for_something_else(monkeypatch):
    for name in ("capacity", "max_actors", "scene"):
        monkeypatch.setattr(Walk, name, 3)
    env = EntityEnv("walking:Walk")
    env.reset()
    assert env.scene() == {}


class Broken(Walk):
    """Its spaces are invalid."""

    def obs_space(self):
        return ObsSpace(entities={"a/b": Entity(["x"])})


def test_invalid_spaces_are_refused():
    with pytest.raises(MusterError, match=r"'a/b'.*'/'"):
        EntityEnv("walking:Broken")


def test_the_declaration_is_valid():
    spec = spec_of(EntityEnv("MineSweeper", {"orbital_cannon": True}), 4)
    assert spec.array_shape("entities/Mine", 4) == (4, 5, 2)
    assert spec.fields["actors"].about["actions"]["Fire Orbital Cannon"] == {
        "kind": "select",
        "slots": [2, 3],
        "choices": 8,
    }
    assert spec.fields["entities/Mine"].about == {"features": ["x", "y"]}
