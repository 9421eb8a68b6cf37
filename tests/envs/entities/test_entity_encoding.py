"""What environments of entities show, as arrays: by hand, and named by types as by ids."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.contract.fields import declared_spec
from envs.entities import (
    CategoricalActionMask,
    CategoricalActionSpace,
    Entity,
    GlobalCategoricalActionMask,
    GlobalCategoricalActionSpace,
    Observation,
    ObsSpace,
    SelectEntityActionMask,
    SelectEntityActionSpace,
)
from envs.entities.encoding import Encoder
from envs.entities.layout import Layout
from envs.entities.numbering import ObservationError

SPACE = ObsSpace(["time"], {"Mine": Entity(["x", "y"]), "Robot": Entity(["x", "y"]), "Wall": Entity([])})
ACTIONS = {
    "Move": CategoricalActionSpace(["Up", "Down", "Wait"]),
    "Turn": GlobalCategoricalActionSpace(["On", "Off"]),
    "Fire": SelectEntityActionSpace(),
}
LAYOUT = Layout(SPACE, ACTIONS, {"Mine": 4, "Robot": 3, "Wall": 2}, {"Move": 5, "Fire": 3})


class Declared:
    groups, episode_limit, fields = LAYOUT.groups, 7, LAYOUT.fields


def encoded(observations):
    encoder = Encoder(declared_spec(Declared), LAYOUT, len(observations))
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
    arrays = {path: array[0] for path, array in encoded([shown]).items()}
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


def test_the_environment_with_too_many_is_named():
    few, many = (Observation(features={"Wall": [[]] * n}, global_features=[0], done=False, reward=0) for n in (2, 3))
    with pytest.raises(ObservationError, match="'Wall' has 3 entities, more than its capacity of 2") as caught:
        encoded([few, many, few])
    assert caught.value.row == 1


def any_observation(rng):
    """Actors by type, ids or none, lists or arrays, any masks."""
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


def by_ids(observation):
    """The same observation, whose actions name actors and actees by their ids."""
    actions = {}
    for name, mask in observation.actions.items():
        named = dict(vars(mask))
        for role in ("actor", "actee"):
            if (types := named.get(f"{role}_types")) is not None:
                ids = [identity for one in types for identity in observation.ids_of(one)]
                named |= {f"{role}_types": None, f"{role}_ids": ids}
        actions[name] = type(mask)(**named)
    return Observation(**vars(observation) | {"actions": actions})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_entities_named_by_types_are_those_named_by_ids(seed):
    """Types are looked up in all observations at once, ids in each."""
    rng = np.random.default_rng(seed)
    observations = [any_observation(rng) for _ in range(rng.integers(1, 6))]
    by_type, alone = encoded(observations), [encoded([by_ids(one)]) for one in observations]
    for path, array in by_type.items():
        np.testing.assert_array_equal(array, np.concatenate([one[path] for one in alone]), path)
