"""The version of the rules, and the rules that `benchmarks/skirmish_rules.py` tries."""

import ast
import sys

import pytest

from cli.compose import compose_config
from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.options import RULES, Options
from standins import ROOT
from utils.errors import ConfigError

# of 32 battles of SMAC's scripted player with the seed 0: won, mean return, mean length
BY_RULES = {
    1: {
        "3m": (17, 14.2414, 27.0625),
        "2s3z": (32, 20.0, 49.4062),
        "MMM": (0, 7.4864, 36.7812),
        "bane_vs_bane": (16, 18.1229, 19.8438),
        "2c_vs_64zg": (0, 13.4831, 41.6562),
        "10gen_terran": (22, 16.8691, 36.6562),
    }
}


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield
    for name in ("heuristic_ai", "skirmish_rules"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", BY_RULES[RULES])
def test_other_battles_need_another_version(name, benchmarks):
    """Who changes the simulated battles raises `RULES`, writes new figures here and a line into the fidelity page."""
    from heuristic_ai import play

    battles = BatchedSkirmish(32, map_name=name, seed=0, heuristic_ai=True)
    won, mean_return, length = play(battles)
    expected = BY_RULES[RULES][name]
    assert (round(won * 32), round(mean_return, 4), round(length, 4)) == expected


@pytest.mark.parametrize("name", ["skirmish", "skirmish_v2_protoss", "skirmish_v2_terran", "skirmish_v2_zerg"])
def test_every_run_records_the_version(name):
    assert compose_config("iql", name).config["env_args"]["rules"] == RULES


def test_other_versions_are_refused():
    with pytest.raises(ConfigError, match=f"env_args.rules is 99; this version of Skirmish has rules {RULES} only"):
        Options(rules=99)


def test_the_rules_that_are_tried_fit_the_simulator(benchmarks):
    from skirmish_rules import RULES as TRIED
    from skirmish_rules import changed

    for name, (what, changes) in TRIED.items():
        texts = changed(name)
        assert bool(what) == bool(changes) == bool(texts)
        for text in texts.values():
            ast.parse(text)
