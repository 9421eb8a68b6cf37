"""Observations and metrics that are invalid are refused, with the name of the environment of entities and the step."""

import re

import numpy as np
import pytest

from envs.contract.validation import InvalidEnvironmentError
from envs.entities import CategoricalActionMask, GlobalCategoricalActionMask
from walking import Walk, stepped, walks


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
    ({"ids": {"Walker": [["a"]]}}, "Entity type 'Walker' has the ids .* not hashable"),
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


def test_no_observation_and_an_end_at_the_beginning_are_refused(monkeypatch):
    assert "not an Observation" in spoilt(monkeypatch, -1, instead=(1, 2))
    assert "begins with its end" in spoilt(monkeypatch, 0, done=True)
