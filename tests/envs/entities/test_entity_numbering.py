"""Numbers of entities, offers and dispatched actions; what entity-gym gets silently wrong is right or refused."""

import numpy as np
import pytest

from envs.entities import (
    CategoricalAction,
    CategoricalActionMask,
    CategoricalActionSpace,
    Entity,
    GlobalCategoricalAction,
    GlobalCategoricalActionMask,
    GlobalCategoricalActionSpace,
    Observation,
    ObsSpace,
    SelectEntityActionMask,
    SelectEntityActionSpace,
)
from envs.entities.acting import actions_for, offered_in
from envs.entities.numbering import EntityNumbering, ObservationError
from utils.errors import MusterError

OBS = ObsSpace(["time"], {"Mine": Entity(["x", "y"]), "Robot": Entity(["x", "y"]), "Wall": Entity([])})
ACTIONS = {
    "Move": CategoricalActionSpace(["Up", "Down", "Wait"]),
    "Fire": SelectEntityActionSpace(),
    "Turn": GlobalCategoricalActionSpace(["On", "Off"]),
}
ROBOTS, MINES = [[5, 5], [6, 6]], [[1, 1], [2, 2], [3, 3]]


def observed(actions=None, **given):
    given = {"features": {"Robot": ROBOTS, "Mine": MINES}, "global_features": [0.5]} | given
    return Observation(**{"done": False, "reward": 0.0, "actions": actions} | given)


def seen_of(actions=None, **given):
    return EntityNumbering(OBS, ACTIONS).seen(observed(actions, **given))


def refusal(actions=None, **given):
    with pytest.raises(MusterError) as caught:
        seen_of(actions, **given)
    return str(caught.value)


def test_entities_without_ids_are_counted():
    """entity-gym gives 0 and 1 here: mines, which have no ids, are declared before the robots."""
    for ids in ({"Robot": ["a", "b"]}, {}):
        offer = seen_of({"Move": CategoricalActionMask(actor_types=["Robot"])}, ids=ids).offers["Move"]
        assert offer.actors.tolist() == [3, 4]
        assert offer.mask is None
    offer = seen_of({"Move": CategoricalActionMask(actor_ids=["b"])}, ids={"Robot": ["a", "b"]}).offers["Move"]
    assert offer.actors.tolist() == [4]


def test_implicit_actors_are_dispatched_in_the_order_of_their_numbers():
    """entity-gym numbers them in the space's order and dispatches in the order of the observation's dict."""
    ids = {"Robot": ["a", "b"], "Mine": ["m", "n", "o"]}
    seen = seen_of({"Move": CategoricalActionMask()}, ids=ids)
    assert seen.offers["Move"].actors.tolist() == [0, 1, 2, 3, 4]
    assert list(seen.features) == ["Mine", "Robot", "Wall"]
    action = actions_for(seen, ACTIONS, {"Move": [0, 1, 2, 1, 0]})["Move"]
    assert action == CategoricalAction(["m", "n", "o", "a", "b"], action.indices, ["Up", "Down", "Wait"])
    assert action.labels == ["Up", "Down", "Wait", "Down", "Up"]
    for mask, actors in ((CategoricalActionMask(), ["m", "n", "o", "a", "b"]), (CategoricalActionMask(["b"]), ["b"])):
        assert list(offered_in(observed({"Move": mask}, ids=ids), OBS, ACTIONS)["Move"][0]) == actors


def test_actees_stand_in_the_order_they_are_named_and_are_chosen_by_position():
    mask = SelectEntityActionMask(actor_types=["Robot"], actee_types=["Robot", "Mine"])
    seen = seen_of({"Fire": mask}, features={"Mine": MINES[:2], "Robot": ROBOTS})
    assert seen.offers["Fire"].actees.tolist() == [2, 3, 0, 1]
    action = actions_for(seen, ACTIONS, {"Fire": [2, 0]}, {"Fire": np.full((2, 4), 0.25)})["Fire"]
    assert action.actors == [("Robot", 0), ("Robot", 1)]
    assert action.actees == [("Mine", 0), ("Robot", 0)]
    assert action.probs.shape == (2, 4)
    mask = SelectEntityActionMask(actor_ids=["b", "a"], actee_ids=["n", "b", "m"])
    offer = seen_of({"Fire": mask}, ids={"Robot": ["a", "b"], "Mine": ["m", "n", "o"]}).offers["Fire"]
    assert (offer.actors.tolist(), offer.actees.tolist()) == ([4, 3], [1, 4, 0])


def test_without_actors_there_are_no_actees():
    offer = seen_of({"Fire": SelectEntityActionMask(actor_types=[], actee_types=["Mine"])}).offers["Fire"]
    assert (len(offer.actors), len(offer.actees)) == (0, 0)


def test_an_actor_with_nothing_to_select_is_refused():
    """entity-gym gives it a random number past its list."""
    mask = SelectEntityActionMask(actor_types=["Robot"], actee_types=["Mine"])
    message = refusal({"Fire": mask}, features={"Robot": ROBOTS})
    assert message == "Action 'Fire': an actor of entity type 'Robot' has nothing to select."
    for end in ("done", "truncated"):
        last = seen_of(
            {"Fire": mask, "Turn": GlobalCategoricalActionMask([0, 0])}, features={"Robot": ROBOTS}, **{end: True}
        )
        assert len(last.offers["Fire"].actees) == 0


def test_dense_masks_of_actors_and_actees():
    """entity-gym ignores them."""
    allowed = [[True, False, True], [False, True, True]]
    mask = SelectEntityActionMask(actor_types=["Robot"], actee_types=["Mine"], mask=allowed)
    seen = seen_of({"Fire": mask})
    assert seen.offers["Fire"].mask.tolist() == allowed
    assert actions_for(seen, ACTIONS, {"Fire": [0, 1]})["Fire"].actees == [("Mine", 0), ("Mine", 1)]
    with pytest.raises(MusterError, match="Action 'Fire': 1 is not among"):
        actions_for(seen, ACTIONS, {"Fire": [1, 1]})
    mask.mask = [[True, False, True], [False, False, False]]
    assert refusal({"Fire": mask}) == "Action 'Fire': an actor of entity type 'Robot' has nothing to select."
    mask.mask = [[True, False], [True, True]]
    assert refusal({"Fire": mask}) == "Action 'Fire', mask has the shape (2, 2): expected (2, 3)."


def test_a_left_out_action_has_no_actor():
    """entity-gym stops with a KeyError."""
    seen = seen_of({})
    assert all(len(seen.offers[name].actors) == 0 for name in ACTIONS)
    actions = actions_for(seen, ACTIONS, {})
    assert (actions["Move"].actors, actions["Fire"].actors, actions["Fire"].actees) == ([], [], [])
    assert "Turn" not in actions


@pytest.mark.parametrize("mask", [None, [True, False], [[True, False]]])
def test_a_global_action_belongs_to_the_number_after_the_last_entity(mask):
    seen = seen_of({"Turn": GlobalCategoricalActionMask(mask)})
    assert seen.offers["Turn"].actors.tolist() == [5]
    assert mask is None or seen.offers["Turn"].mask.tolist() == [[True, False]]
    probs = np.array([[0.9, 0.1]], np.float32)
    action = actions_for(seen, ACTIONS, {"Turn": [0]}, {"Turn": probs})["Turn"]
    assert action == GlobalCategoricalAction(0, "On", action.probs)
    assert action.probs.tolist() == probs[0].tolist()


def test_both_forms_of_an_observation_show_the_same():
    parts = seen_of(features={"Robot": ROBOTS, "Mine": MINES}, ids={"Robot": ["a", "b"]})
    whole = seen_of(features=None, entities={"Mine": MINES, "Robot": (ROBOTS, ["a", "b"]), "Wall": None})
    for name in OBS.entities:
        np.testing.assert_array_equal(parts.features[name], whole.features[name])
        assert parts.features[name].dtype == np.float32
    assert parts.roster.ids == whole.roster.ids == [("Mine", 0), ("Mine", 1), ("Mine", 2), "a", "b"]
    for wrong in ({"entities": {}, "features": {}}, {"entities": {}, "ids": {}}, {"entities": {"Mine": ([],)}}):
        with pytest.raises(ValueError, match=r"either entities|a pair"):
            Observation(done=False, reward=0, **wrong)


def test_absent_and_featureless_and_unknown_types():
    seen = seen_of(features={"Wall": [[], []], "Tree": [[1]]})
    assert {name: rows.shape for name, rows in seen.features.items()} == {
        "Mine": (0, 2),
        "Robot": (0, 2),
        "Wall": (2, 0),
    }
    assert seen.roster.ids == [("Wall", 0), ("Wall", 1)]
    assert len(seen_of(features={}).roster.ids) == 0


def test_what_is_visible_and_the_outcomes():
    seen = seen_of(visible={"Robot": [True, False]}, reward=2, truncated=True, metrics={"found": 3})
    assert seen.visible["Robot"].tolist() == [True, False]
    assert (seen.reward, seen.done, seen.truncated, seen.metrics) == (2.0, False, True, {"found": 3})
    assert seen.global_features.tolist() == [0.5]


MOVE, FIRE = CategoricalActionMask, SelectEntityActionMask
# more of them: test_entity_faults.py
REFUSED = {
    "rows of unequal length": (
        None,
        {"features": {"Mine": [[1, 2], [1]]}},
        "Entity type 'Mine'",
        "not an array of numbers",
    ),
    "endless global features": (None, {"global_features": [np.inf]}, "global features", "not finite: inf"),
    "no reward": (None, {"reward": None}, "reward", "None"),
    "two kinds of actees": ({"Fire": FIRE(None, None, [], [])}, {}, "Action 'Fire'", "both actee_ids and actee_types"),
    "an id that cannot be one": ({"Move": MOVE([["z"]])}, {}, "Action 'Move'", "which no entity has as id"),
    "one id of two robots": (
        {"Move": MOVE(None, ["Robot"])},
        {"ids": {"Robot": ["a", "a"]}},
        "Action 'Move'",
        "a of entity type 'Robot' has the id of another entity",
    ),
    "one id of two types": (
        {"Move": MOVE([0])},
        {"ids": {"Robot": [0, 1], "Mine": [0, 1, 2]}},
        "Action 'Move'",
        "has the id of another entity",
    ),
    "no global choice left": ({"Turn": GlobalCategoricalActionMask([0, 0])}, {}, "Action 'Turn'", "nothing to choose"),
    "a global mask of another length": ({"Turn": GlobalCategoricalActionMask([1])}, {}, "'Turn'", "expected (1, 2)"),
    "a ragged mask": ({"Move": MOVE(None, ["Robot"], [[1, 0, 0], [1]])}, {}, "Action 'Move'", "unequal length"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_name_of_type_or_action(case):
    actions, given, who, what = REFUSED[case]
    message = refusal(actions, **given)
    assert who in message
    assert what in message


def test_ids_need_be_different_only_where_they_are_named():
    """Each type may count its own: actors by their types are known."""
    seen = seen_of({"Move": MOVE(None, ["Robot"])}, ids={"Robot": [0, 1], "Mine": [0, 1, 2]})
    assert actions_for(seen, ACTIONS, {"Move": [0, 1]})["Move"].actors == [0, 1]
    message = refusal({"Fire": FIRE(None, ["Robot"], ["Robot", "Mine"])}, ids={"Robot": [0, 1], "Mine": [0, 1, 2]})
    assert "has the id of another entity" in message


@pytest.mark.parametrize("chosen", [[0], [0, 3], [0, -1], []])
def test_a_choice_that_was_not_offered_is_refused(chosen):
    seen = seen_of({"Move": CategoricalActionMask(actor_types=["Robot"])})
    with pytest.raises(MusterError, match="Action 'Move'"):
        actions_for(seen, ACTIONS, {"Move": chosen})


@pytest.mark.parametrize("rows", [[[1, 2, 3]], np.ones((1, 3)), [["a", "b"]]])
def test_the_invalid_one_of_many_observations_is_named(rows):
    good = observed(features={"Mine": np.ones((2, 2))})
    with pytest.raises(ObservationError, match="Entity type 'Mine'") as caught:
        EntityNumbering(OBS, ACTIONS).read([good, good, observed(features={"Mine": rows}), good])
    assert caught.value.row == 2


def test_only_an_observation_is_one():
    with pytest.raises(MusterError, match="not an Observation"):
        EntityNumbering(OBS, ACTIONS).seen(None)


SPACES = {
    "no ObsSpace": ({}, ACTIONS, "not an ObsSpace"),
    "entities in a list": (ObsSpace([], [Entity(["x"])]), ACTIONS, "ObsSpace.entities"),
    "features instead of an Entity": (ObsSpace([], {"Mine": ["x"]}), ACTIONS, "Entity type 'Mine'"),
    "a feature twice": (ObsSpace([], {"Mine": Entity(["x", "x"])}), ACTIONS, "'Mine': 'x' is there twice"),
    "a text of features": (ObsSpace([], {"Mine": Entity("xy")}), ACTIONS, "'Mine': expected a list of names"),
    "a name of two lines": (ObsSpace(["a\nb"]), ACTIONS, "'a\\nb' is not a name"),
    "a number as a name": (ObsSpace([1]), ACTIONS, "1 is not a name"),
    "the reserved type": (ObsSpace([], {"__global__": Entity([])}), ACTIONS, "'__global__'"),
    "no action": (OBS, {}, "at least one action"),
    "a list as a space": (OBS, {"Move": ["Up"]}, "Action 'Move'"),
    "no choices": (OBS, {"Move": CategoricalActionSpace([])}, "Action 'Move' has no choices"),
    "a label twice": (OBS, {"Move": GlobalCategoricalActionSpace(["Up", "Up"])}, "'Move': 'Up' is there twice"),
    "nobody to act": (ObsSpace(["time"]), {"Move": CategoricalActionSpace(["Up"])}, "Action 'Move' needs an actor"),
}


@pytest.mark.parametrize("case", SPACES)
def test_invalid_spaces_are_refused(case):
    obs_space, action_space, what = SPACES[case]
    with pytest.raises(MusterError) as caught:
        EntityNumbering(obs_space, action_space)
    assert what in str(caught.value)
