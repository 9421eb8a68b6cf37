"""Population-based training: who continues from whom, with which settings."""

from dataclasses import replace

import pytest

from suites.plan.search import read_search
from suites.search.population import Population
from suites.state.runs import DONE, FAILED
from suites.state.trials import End, SearchPlan, Trial
from utils.errors import ConfigError

SPACE = {"lr": {"log_uniform": [1e-4, 1e-2]}, "width": {"choice": [8, 16, 32]}, "steps": {"int": [1, 20]}}
SEARCH = {"method": "pbt", "members": 4, "generations": 3, "space": SPACE}


def population(**changes):
    return Population(read_search({**SEARCH, **changes}), lambda value: value)


def ended(number, value, parent=0, **settings):
    settings = {"lr": 0.001 * number, "width": 16, "steps": 10, **settings}
    end = End(FAILED, error="no") if value is None else End(DONE, value)
    return Trial(number, settings, [], parent=parent, end=end)


def flat(suggestion):
    return {path[0]: value for path, value in suggestion.settings.items()}


def test_the_first_generation_is_a_random_searchs():
    drawn = read_search({"method": "random", "trials": 4, "space": SPACE}).listed
    made = population()
    assert [flat(made.ask(number)) for number in (1, 2, 3, 4)] == list(drawn.values())
    assert all(made.ask(number).parent == 0 for number in (1, 2, 3, 4))


def test_the_worst_copies_the_best_and_the_others_continue():
    made = population(resample=0)
    made.learn([ended(1, 3.0), ended(2, 5.0), ended(3, 1.0), ended(4, 4.0)])
    for number, parent in ((5, 1), (6, 2), (8, 4)):
        found = made.ask(number)
        assert found.parent == parent and flat(found) == {"lr": 0.001 * parent, "width": 16, "steps": 10}
    copy = made.ask(7)  # a quarter of four members is one
    assert copy.parent == 2
    assert flat(copy)["lr"] in (0.0016, 0.0024) and flat(copy)["width"] in (8, 32) and flat(copy)["steps"] in (8, 12)
    assert made.ask(7) == copy
    made = Population(read_search(SEARCH), lambda value: -value)  # what is sought is small
    made.learn([ended(1, 3.0), ended(2, 5.0), ended(3, 1.0), ended(4, 4.0)])
    assert made.ask(6).parent == 3 and made.ask(7).parent == 3


def test_settings_stay_within_their_ranges():
    made = population(resample=0, truncation=0.5)
    at_ends = {"lr": 1e-2, "width": 32, "steps": 20}
    made.learn([ended(1, 9.0, **at_ends), ended(2, 9.0, **at_ends), ended(3, 1.0), ended(4, 1.0)])
    for number in (7, 8):
        found = flat(made.ask(number))
        assert found["lr"] in (0.008, 0.01) and found["width"] in (16, 32) and found["steps"] in (16, 20)


def test_copied_settings_may_be_drawn():
    made = population(resample=1)
    made.learn([ended(1, 3.0), ended(2, 5.0), ended(3, 1.0), ended(4, 4.0)])
    found = made.ask(7)
    assert found.parent == 2 and made._search.holds(flat(found)) and flat(found)["lr"] not in (0.0016, 0.0024)


def test_a_generation_waits_for_the_one_before():
    made = population()
    running = replace(ended(3, 1.0), end=None)
    made.learn([ended(1, 3.0), ended(2, 5.0), running, ended(4, 4.0)])
    assert [made.ask(number) for number in (5, 6, 7, 8)] == [None] * 4
    assert not made.is_stuck([ended(1, 3.0), ended(2, 5.0), running])


def test_members_that_failed_copy_and_are_not_copied():
    made = population(truncation=0.5)
    trials = [ended(1, None), ended(2, None), ended(3, None), ended(4, -7.0)]
    made.learn(trials)
    assert [made.ask(number).parent for number in (5, 6, 7, 8)] == [4, 4, 4, 4]
    assert flat(made.ask(8)) == {"lr": 0.004, "width": 16, "steps": 10}
    assert not made.is_stuck(trials)
    all_failed = [ended(number, None) for number in (1, 2, 3, 4)]
    made.learn(all_failed)
    assert made.ask(5) is None and made.is_stuck(all_failed)


def test_generations_and_members_are_counted_from_one():
    plan = SearchPlan("pbt", 12, members=4)
    assert [(plan.generation(k), plan.member(k)) for k in (1, 4, 5, 12)] == [(1, 1), (1, 4), (2, 1), (3, 4)]
    assert not plan.copies(Trial(6, {}, [], parent=2)) and plan.copies(Trial(6, {}, [], parent=1))
    assert not plan.copies(Trial(2, {}, []))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trials": 8}, "a population has members × generations"),
        ({"members": 1}, "search.members=1: it must be at least 2"),
        ({"members": 500, "generations": 3}, "1500 trials; a search may have 1000"),
        ({"truncation": 0.6}, "search.truncation=0.6"),
        ({"pruning": "median"}, "only the method tpe has it"),
        ({"method": "random", "trials": 3}, "search.members: only the method pbt has it"),
    ],
)
def test_what_is_no_population(changes, said):
    with pytest.raises(ConfigError, match=said):
        read_search({**SEARCH, **changes})


def test_the_keys_of_searches_from_before_stay():
    """Their hash names the folder of their trials."""
    found = read_search({"method": "tpe", "trials": 3, "space": {"lr": {"uniform": [0, 1]}}}).identity()
    assert "members" not in found and '"pruning": "none"' in found
