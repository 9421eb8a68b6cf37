"""What is wrong with a run: the rules on recorded runs that were ill on purpose, and on healthy ones."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from doctor import main as doctor
from records.symptoms.evidence import CUT_OFF, ENDED, OUTSIDE, Curve, Evidence
from records.symptoms.rules import RULES, findings_of
from results_folders import write_log, write_run

# the runs of the table in docs/debugging.md: name -> {config, curves, rollouts, found}
with gzip.open(Path(__file__).parents[1] / "support" / "doctor_runs.json.gz", "rt") as file:
    RUNS = json.load(file)


def evidence_of(run):
    curves, rollouts = (
        {key: Curve(*(np.array(column, np.float64) for column in columns)) for key, columns in run[kind].items()}
        for kind in ("curves", "rollouts")
    )
    return Evidence(run["config"], curves, rollouts, run["ended"])


def rules_found(evidence):
    return [finding.rule for finding in findings_of(evidence)]


@pytest.mark.parametrize("name", RUNS)
def test_recorded_runs_have_what_was_done_to_them_and_healthy_ones_nothing(name):
    assert rules_found(evidence_of(RUNS[name])) == RUNS[name]["found"]


def test_the_page_lists_the_runs_and_what_is_found():
    page = (Path(__file__).parents[2] / "docs" / "debugging.md").read_text()
    titles = {rule.name: rule.title for rule in RULES}
    for title in titles.values():
        assert f"| {title} |" in page
    for name, run in RUNS.items():
        found = ", ".join(titles[rule].lower() for rule in run["found"]) or "nothing"
        assert re.search(rf"^\| {name} \|.*\| {found} \|$", page, re.M), name


def test_every_rule_has_a_run_that_is_ill_by_it():
    found = {rule for run in RUNS.values() for rule in run["found"]}
    assert {rule.name for rule in RULES} - found == {"updates_skipped"}


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if not run["found"]])
def test_healthy_runs_are_warned_of_at_no_time(name):
    whole = evidence_of(RUNS[name])
    for step in np.linspace(0, whole.t_env, 9)[1:]:
        cut = [{key: Curve(*(x[curve.t <= step] for x in curve)) for key, curve in curves.items()}
               for curves in (whole.curves, whole.rollouts)]  # fmt: skip
        assert not rules_found(Evidence(whole.config, *cut, ended=False)), step


def curves(**values):
    return {key: Curve.of((100 * k + 100, x) for k, x in enumerate(column)) for key, column in values.items()}


def test_a_run_that_trains_is_not_judged_by_its_end():
    late = curves(epsilon=[1.0, 0.9, 0.8], return_mean=[1.0, 1.0, 1.0])
    assert rules_found(Evidence({}, late)) == ["epsilon_left"]
    assert rules_found(Evidence({}, late, ended=False)) == []


def test_each_team_is_looked_at_by_itself():
    found = findings_of(
        Evidence(
            {"teams": {"prey": {}, "predators": {}}},
            curves(**{"prey/grad_norm": [0.0] * 3, "predators/grad_norm": [1.0] * 3}),
        )
    )
    assert [finding.title for finding in found] == ["The gradient is zero (prey)"]


def test_left_out_updates_and_nothing_at_all():
    assert rules_found(Evidence({}, curves(skipped_updates=[1.0, 4.0]))) == ["updates_skipped"]
    assert rules_found(Evidence({"lr": object(), "teams": 3}, {})) == []


def test_a_finding_names_the_present_values_of_its_keys():
    (found,) = findings_of(Evidence({"lr": 0.3, "grad_norm_clip": 10}, curves(skipped_updates=[2.0])))
    assert found.change.endswith("Now: lr=0.3, grad_norm_clip=10.")
    assert found.seen == "2 updates were left out, because numbers were not finite."


def test_games_of_a_fixed_length_are_ill_only_if_nothing_is_learned():
    ends = {ENDED: Curve.of([(0, 8.0)]), CUT_OFF: Curve.of([(0, 8.0)])}
    learned = curves(
        epsilon=[1.0, 0.0],
        ep_length_mean=[5.0, 5.0],
        return_mean=[1.0, 5.0],
        return_std=[0.5, 0.5],
        test_return_mean=[1, 5.0, 5.0],
    )
    assert rules_found(Evidence({}, learned, ends)) == []
    nothing = learned | curves(return_mean=[1.0, 1.0], test_return_mean=[1.0, 1.0, 1.0])
    assert "limit_ends_all" not in rules_found(Evidence({}, nothing, ends)), "their outcomes differ: it was short"
    same = nothing | curves(return_std=[0.0, 0.0], test_return_std=[0.0, 0.005, 0.0])
    assert "limit_ends_all" in rules_found(Evidence({}, same, ends))


def test_players_whose_gains_and_losses_cancel_are_not_judged_by_their_mean():
    """Of a game in which one loses what another wins, the mean return is 0 from the first to the last."""
    team = curves(epsilon=[1.0, 0.0, 0.0], ep_length_mean=[5.0] * 3, td_error_abs=[9.0] * 3) | curves(
        **dict.fromkeys(("return_mean", "return_std", "test_return_mean", "test_return_std"), [0.0] * 3)
    )
    config = {"test_nepisode": 100, "t_max": 300}
    assert rules_found(Evidence(config, team)) == ["rewards_zero"]
    players = {f"player_{k}/return_mean": [x, 0.0, -x] for k, x in enumerate((0.25, -0.25))}
    assert rules_found(Evidence(config, team | curves(**players))) == []
    # another team's gains are not those of a team's players
    red, of_blue = {f"red/{key}": curve for key, curve in team.items()}, curves(**{"blue/return_mean": [1.0, 2.0]})
    assert not Evidence(config, red | of_blue, team="red").cancels
    assert Evidence(config, red | curves(**{"red/a/return_mean": [1.0, 2.0]}), team="red").cancels


def test_observations_that_are_normalised_may_be_large():
    rollouts = {"obs_largest": Curve.of([(0, 1e5)]), OUTSIDE: Curve.of([(0, 0.0)])}
    assert rules_found(Evidence({}, {}, rollouts)) == ["observations_unscaled"]
    assert rules_found(Evidence({"normalise_observations": True}, {}, rollouts)) == []


def test_the_program_prints_what_was_seen_and_what_to_change(tmp_path, capsys):
    write_run(tmp_path, 1, info={"unique_token": "t"}, config={"lr": 0.25})
    assert doctor(["1", f"--results={tmp_path}"]) == 2
    assert "metrics.csv" in capsys.readouterr().err
    write_log(tmp_path, "t", [(t, t, 1, "grad_norm", 0.0) for t in range(3)])
    assert doctor(["1", f"--results={tmp_path}"]) == 0
    out = capsys.readouterr().out
    for part in ("The gradient is zero", "Seen:   grad_norm was 0", "Now: lr=0.25", "has not reached its end"):
        assert part in out
    (tmp_path / "runs" / "t" / "done.json").write_text("{}")
    write_log(tmp_path, "t", [(t, t, 1, "grad_norm", 1.0) for t in range(3)])
    assert doctor(["1", f"--results={tmp_path}"]) == 0
    assert "Nothing is wrong" in capsys.readouterr().out


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -(10**400), "x", None, [], {}])
def test_records_of_others_may_have_any_values(odd):
    """Where the rules read numbers, JSON has whole ones of any size, and NaN."""
    for run in RUNS.values():
        evidence = evidence_of({**run, "config": dict.fromkeys(run["config"], odd)})
        assert all(isinstance(finding.line, str) for finding in findings_of(evidence))
