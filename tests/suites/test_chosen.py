"""`--only`: the runs that a command means."""

import pytest
from test_expansion import RATES, suite

from suites.command.chosen import chosen
from suites.state.runs import SuiteRun
from utils.errors import ConfigError

MADE = suite(
    algorithms=["qmix", "vdn"], scenarios=[("lbf", "a:1"), ("lbf", "b:2")], seeds=[1, 2], overrides={"rate": RATES}
)
RUNS = [
    SuiteRun(f"{algorithm}{rate}{place}{seed}", f"{algorithm}+{rate}", "lbf", place, seed, {"rate": rate}, 1, [])
    for seed in (1, 2)
    for algorithm in ("qmix", "vdn")
    for place in ("a:1", "b:2")
    for rate in ("low", "high")
]


@pytest.mark.parametrize(
    "words, expected",
    [
        ([], 16),
        (["seed=2"], 8),
        (["seed=1,2"], 16),
        (["algorithm=vdn", "map=a:*"], 4),
        (["algorithm=vdn", "algorithm=qmix", "rate=low", "seed=1"], 4),
        (["environment=lbf", "map=b:2", "rate=high"], 4),
    ],
)
def test_runs_that_fit_all_words(words, expected):
    found = chosen(MADE, RUNS, words)
    assert len(found) == expected and [run for run in RUNS if run in found] == found
    for axis, values in (word.split("=") for word in words if "," not in word and "*" not in word):
        others = [word.partition("=")[2] for word in words if word.startswith(axis)]
        assert all(str(run.axes[axis]) in (values, *others) for run in found)


@pytest.mark.parametrize(
    "words, message",
    [
        (["seed"], "--only=seed: expected AXIS=VALUE"),
        (["seed="], "expected AXIS=VALUE"),
        (["algoritm=vdn"], "Did you mean 'algorithm'?"),
        (["algorithm=vdm"], "--only: the suite has no algorithm vdm. Did you mean 'vdn'?"),
        (["seed=3"], "the suite has no seed 3"),
        (["map=c:*"], "the suite has no map c:*"),
    ],
)
def test_what_the_suite_does_not_have_is_refused(words, message):
    with pytest.raises(ConfigError) as error:
        chosen(MADE, RUNS, words)
    assert message in str(error.value)


def test_words_that_no_run_fits_are_refused():
    with pytest.raises(ConfigError, match="leaves no run of"):
        chosen(MADE, [run for run in RUNS if run.seed == 1 or run.map == "a:1"], ["seed=2", "map=b:2"])
