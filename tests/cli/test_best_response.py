"""`play --best-response`: what a new team learns against a run's model, and what is refused."""

import re
from pathlib import Path

import pytest

import play as door
from cli.arguments import parse_arguments
from cli.best_response import _teams
from cli.experiment import run_experiment

pytestmark = pytest.mark.slow
PLUGIN = Path(__file__).parents[1] / "support" / "convoy_plugin.py"
LEARNS = "agent=ff lr=0.01 critic_lr=0.01 batch_size_run=16 rollout_steps=12 minibatches=1 test_greedy=False"
TEAMS = {"one": "", "two": "teams.red.config=ippo teams.blue.config=ippo"}
ANSWER = re.compile(r"(red|blue): the best response earns ([-.0-9]+)±([.0-9]+) \(in the tests before ([-., 0-9]+)\)")


@pytest.fixture(scope="module", params=TEAMS)
def results(request, tmp_path_factory):
    """A short self-play, whose model of step 0 is in the pool, and a run of one team."""
    folder = tmp_path_factory.mktemp(request.param) / "results"
    shared = f"test_nepisode=1 test_interval=10000 seed=1 save_model=True local_results_path={folder} {LEARNS}"
    pool = "opponents=pool opponent_nepisode=0 opponent_interval=100000 t_max=400"
    duel = f"env=duel plugins={PLUGIN} {pool} {TEAMS[request.param]}"
    run_experiment(parse_arguments(f"--config=ippo --env-config=two_step with {shared} {duel}".split()))
    run_experiment(parse_arguments(f"--config=ippo --env-config=two_step with {shared} t_max=100".split()))
    return folder


def answered(capsys, *words):
    code = door.main(["--best-response", *map(str, words)])
    return code, capsys.readouterr()


def test_it_learns_to_beat_the_model_in_the_place_of_each_group(results, capsys):
    """Large actions win; against random ones a team of twos earns 6 in an episode."""
    before = sorted(results.rglob("*"))
    words = ["1@0", "--results", results, "--steps", 4000, "--episodes", 50]
    code, shown = answered(capsys, *words)
    assert (code, shown.err) == (0, "")
    found = ANSWER.findall(shown.out)
    assert [group for group, *_ in found] == ["red", "blue"]
    for _, mean, error, tests in found:
        assert float(mean) > 4 and 0 < float(error) < 1
        assert float(tests.split(",")[0]) < 2
    mean = re.search(r"Mean over 2 groups: ([-.0-9]+)", shown.out)[1]
    assert float(mean) == pytest.approx(sum(float(one[1]) for one in found) / 2, abs=1e-3)
    assert sorted(results.rglob("*")) == before


def test_equal_words_give_equal_answers(results, capsys):
    words = ["1@0", "--results", results, "--steps", 400, "--episodes", 5]
    first, second = (answered(capsys, *words) for _ in "ab")
    assert first[0] == 0 and ANSWER.findall(first[1].out) == ANSWER.findall(second[1].out) != []
    assert first[1].out == second[1].out


@pytest.mark.parametrize(
    ("own", "teams"),
    [
        ({}, {"best_response": {"groups": ["red"]}, "held": {"groups": ["blue", "green"], "step": 7}}),
        (
            {"red": {"groups": [], "lr": 0.1}, "rest": {"groups": ["blue", "green"], "frozen": True, "lr": 0.2}},
            {
                "best_response": {"groups": ["red"], "lr": 0.1},
                "rest": {"groups": ["blue", "green"], "lr": 0.2, "step": 7},
            },
        ),
        (
            {"both": {"groups": ["red", "blue"]}, "green": {}},
            {
                "best_response": {"groups": ["red"]},
                "both": {"groups": ["blue"], "step": 7},
                "green": {"groups": ["green"], "step": 7},
            },
        ),
    ],
)
def test_the_teams_of_the_training(tmp_path, own, teams):
    frozen = {"checkpoint_path": str(tmp_path), "frozen": True}
    for keys in teams.values():
        if "step" in keys:
            keys |= {**frozen, "load_step": keys.pop("step")}
    assert _teams({"teams": own}, tmp_path, 7, "red", ["red", "blue", "green"]) == teams


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["2"], "needs opposed groups, each with its reward; env=two_step has 1 group"),
        (["1@7"], "has no model of step 7"),
        (["99"], "There is no run '99'"),
        (["1", "--restart"], "--best-response does not go with --restart."),
        (["1", "--first=1"], "--best-response does not go with --first."),
        (["1", "--cross", "1", "2"], "--cross does not go with --best-response."),
    ],
)
def test_what_has_no_best_response_is_refused(results, capsys, words, message):
    code, shown = answered(capsys, words[0], "--results", results, *words[1:])
    assert code == 2 and message in shown.err and "Traceback" not in shown.err


def test_its_options_need_it(capsys):
    assert door.main(["Xor", "--steps", "3"]) == 2
    assert "--steps needs --best-response RUN." in capsys.readouterr().err
