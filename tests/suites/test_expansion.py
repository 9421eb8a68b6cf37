"""A suite's file and the runs that it means."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.tokens import is_token
from suites.plan.expansion import expanded, run_id, words_of
from suites.plan.suite_file import SuiteFile
from utils.errors import ConfigError


def suite(**changes):
    usual = {
        "path": Path("mine.yaml"), "name": "mine", "description": "", "algorithms": ["qmix", "vdn"],
        "scenarios": [("skirmish", "3m"), ("two_step", "")], "seeds": [1, 2], "settings": {}, "cases": [],
        "overrides": {}, "zipped": [], "excluded": [],
    }  # fmt: skip
    return SuiteFile(**{**usual, **changes})


RATES = {"low": {"lr": 0.1}, "high": {"lr": 1.0}}
WIDTHS = {"narrow": {"rnn_hidden_dim": 8}, "wide": {"rnn_hidden_dim": 64}}


def test_runs_are_the_product_with_seeds_first():
    places = [(p.seed, p.algorithm, p.environment, p.map) for p in expanded(suite())]
    assert places == [
        (1, "qmix", "skirmish", "3m"), (1, "qmix", "two_step", ""), (1, "vdn", "skirmish", "3m"),
        (1, "vdn", "two_step", ""), (2, "qmix", "skirmish", "3m"), (2, "qmix", "two_step", ""),
        (2, "vdn", "skirmish", "3m"), (2, "vdn", "two_step", ""),
    ]  # fmt: skip


def test_axes_side_by_side():
    made = suite(algorithms=["qmix"], seeds=[1], scenarios=[("two_step", "")], overrides={"rate": RATES, "net": WIDTHS})
    assert [point.row for point in expanded(made)] == [
        "qmix+low+narrow", "qmix+low+wide", "qmix+high+narrow", "qmix+high+wide"
    ]  # fmt: skip
    made.zipped.append(["rate", "net"])
    assert [point.row for point in expanded(made)] == ["qmix+low+narrow", "qmix+high+wide"]
    assert [p.settings for p in expanded(made)] == [{"lr": 0.1, "rnn_hidden_dim": 8}, {"lr": 1.0, "rnn_hidden_dim": 64}]


def test_exclusions_and_cases_hold_where_all_of_their_axes_do():
    cases = [({"algorithm": ["vdn"], "seed": [2]}, {"lr": 7.0}), ({"environment": ["two_step"]}, {"gamma": 0.5})]
    made = suite(excluded=[{"algorithm": ["qmix"], "map": ["3m"]}], cases=cases, settings={"lr": 3.0})
    found = {(p.seed, p.algorithm, p.environment): p.settings for p in expanded(made)}
    assert found == {
        (1, "qmix", "two_step"): {"lr": 3.0, "gamma": 0.5},
        (1, "vdn", "skirmish"): {"lr": 3.0},
        (1, "vdn", "two_step"): {"lr": 3.0, "gamma": 0.5},
        (2, "qmix", "two_step"): {"lr": 3.0, "gamma": 0.5},
        (2, "vdn", "skirmish"): {"lr": 7.0},
        (2, "vdn", "two_step"): {"lr": 7.0, "gamma": 0.5},
    }


def test_overrides_win_over_cases_and_cases_over_settings():
    made = suite(settings={"lr": 1.0, "a": {"b": 1, "c": 1}}, cases=[({"seed": [1]}, {"lr": 2.0, "a": {"c": 2}})],
                 overrides={"rate": {"mine": {"lr": 3.0}}})  # fmt: skip
    first, *_, last = expanded(made)
    assert first.settings == {"lr": 3.0, "a": {"b": 1, "c": 2}}
    assert last.settings == {"lr": 3.0, "a": {"b": 1, "c": 1}}


def test_too_many_runs_are_refused_before_they_are_made():
    made = suite(overrides={f"axis{i}": {f"x{j}": {} for j in range(100)} for i in range(8)})
    with pytest.raises(ConfigError, match=rf"mine.yaml: {2 * 2 * 2 * 100**8} runs; a suite may have 10000"):
        expanded(made)
    with pytest.raises(ConfigError, match="exclude leaves no run"):
        expanded(suite(excluded=[{"seed": [1, 2]}]))


names = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=4, unique=True)


@given(names, names, st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True), st.integers(0, 3))
def test_a_row_more_moves_no_run(algorithms, choices, seeds, place):
    """Every run of the smaller suite is in the larger one, and the others are those of the new row."""
    overrides = {"x": {name: {"lr": index} for index, name in enumerate(choices)}}
    config = {"lr": 0.5}
    few = suite(algorithms=algorithms, seeds=seeds, overrides=overrides)
    more = suite(algorithms=[*algorithms[:place], "new", *algorithms[place:]], seeds=seeds, overrides=overrides)
    before, after = ([run_id(p, config | p.settings, {}) for p in expanded(one)] for one in (few, more))
    assert [one for one in after if not one.startswith("new")] == before
    assert len(set(after)) == len(after) == len(list(product([*algorithms, "new"], choices, seeds, range(2))))


def test_an_id_follows_the_config_and_not_the_place_of_its_results():
    point, defaults = expanded(suite())[0], {"lr": 0.0005, "gamma": 0.99, "new": 1}
    config = {"lr": 0.001, "gamma": 0.99, "seed": 1}
    made = run_id(point, config, defaults)
    assert made.startswith("qmix-3m-s1-") and len(made) == len("qmix-3m-s1-") + 8
    assert run_id(point, {**config, "lr": 0.002}, defaults) != made
    assert run_id(point, {**config, "gamma": 0.9}, defaults) != made
    for key, value in {"local_results_path": "x", "run_name": "x", "new": 1, "use_cuda": False}.items():
        assert run_id(point, {**config, key: value}, defaults) == made
    below = {"processes": 2, "transport": "processes", "address": "", "cpus": 1.0, "gpus": 0.0}
    of_collectors = run_id(point, {**config, "collectors": below}, defaults)
    assert of_collectors != made
    assert run_id(point, {**config, "collectors": {**below, "transport": "ray"}}, defaults) == of_collectors
    assert run_id(point, {**config, "collectors": {"processes": 2}}, defaults) == of_collectors
    # Skirmish's rules before they had a version
    before, first, second = (run_id(point, {**config, "env_args": one}, {}) for one in ({}, {"rules": 1}, {"rules": 2}))
    assert before == first != second


def test_the_id_of_a_run_with_overrides_names_a_run():
    """main.py gets it as `run_name`."""
    point = expanded(suite(overrides={"rate": RATES, "net": WIDTHS}))[0]
    made = run_id(point, {"lr": 0.1}, {})
    assert made.startswith("qmix+low+narrow-3m-s1-") and is_token(f"mine_{made}")


def test_settings_as_words():
    from cli.settings import check_settings

    settings = {
        "lr": 1e-05,
        "mixer": None,
        "env_args": {"map_name": "3m", "a": [1, "x'y"]},
        "teams": {"red": {"lr": 2}},
    }
    assert check_settings(words_of(settings)) == settings
